package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	ghtml "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// repository is where links of the documentation lead that are not to one of its pages.
const repository = "https://github.com/bpfrun/bpfrun/blob/main/"

// section is a part of a page, for the search.
type section struct {
	Page    string `json:"page"`
	Title   string `json:"title"` // of the page
	Anchor  string `json:"anchor"`
	Heading string `json:"heading"`
	Text    string `json:"text"`
}

// documentation returns the pages of the documentation by path on the site.
func documentation() (map[string][]byte, error) {
	names, err := filepath.Glob("docs/*.md")
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	var all []section
	var titles strings.Builder
	for _, file := range append([]string{"README.md", "CONFORMANCE.md", "BENCHMARKS.md", "ARCHITECTURE.md"}, names...) {
		source, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		name := pageOf(file)
		title, body, sections, err := render(filepath.ToSlash(file), source)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		out["docs/"+name] = page(title, body)
		fmt.Fprintf(&titles, "<li><a href=\"%s\">%s</a></li>\n", name, html.EscapeString(title))
		all = append(all, sections...)
	}
	images, err := filepath.Glob("docs/images/*")
	if err != nil {
		return nil, err
	}
	for _, file := range images {
		if out[filepath.ToSlash(file)], err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	if out["docs/search.json"], err = json.Marshal(all); err != nil {
		return nil, err
	}
	out["docs/index.html"] = page("Documentation", "<h1>Documentation</h1>\n<ul>\n"+titles.String()+"</ul>\n")
	return out, nil
}

// pageOf returns the name of a file's page: docs/run.md is run.html, README.md is readme.html.
func pageOf(file string) string {
	return strings.ToLower(strings.TrimSuffix(path.Base(filepath.ToSlash(file)), ".md")) + ".html"
}

// page returns a whole page.
func page(title, body string) []byte {
	return []byte(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'">
<title>` + html.EscapeString(title) + ` - bpfrun</title>
<link rel="icon" href="../icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="../style.css">
<script type="module" src="../docs.js"></script>
</head>
<body class="doc">
<header><a href="index.html">bpfrun documentation</a> <a href="../">Playground</a> <label for="search">Search</label> <input id="search" type="search" autocomplete="off">
<span id="filtering" hidden><label for="filter">Filter this page</label> <input id="filter" type="search" autocomplete="off" placeholder="bpf_loop"></span></header>
<main id="main"><div id="found" role="status" aria-live="polite"></div>
` + body + `</main>
</body>
</html>
`)
}

// tags are what is no text of a page: comments, such as where a transcript is from, and elements.
var tags = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>`)

// markdown reads and writes the dialect of the pages: tables, headings with ids, and details, which
// fold tables, as HTML: the pages are the repository's own. The page's Content-Security-Policy
// allows no inline styles: columns are aligned by an attribute.
var markdown = goldmark.New(goldmark.WithRendererOptions(ghtml.WithUnsafe()), goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignAttribute))), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// render turns Markdown into HTML, and returns its title and sections.
func render(file string, source []byte) (title, body string, sections []section, err error) {
	tree := markdown.Parser().Parse(text.NewReader(source))
	err = ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = []byte(relink(file, string(n.Destination)))
			}
		case *ast.Image:
			if entering {
				n.Destination = []byte(strings.TrimPrefix(path.Join(path.Dir(file), string(n.Destination)), "docs/"))
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", "", nil, err
	}
	var b, part bytes.Buffer
	finish := func() {
		if len(sections) > 0 {
			last := &sections[len(sections)-1]
			last.Text = strings.Join(strings.Fields(html.UnescapeString(tags.ReplaceAllString(part.String(), " "))), " ")
		}
		part.Reset()
	}
	for n := tree.FirstChild(); n != nil; n = n.NextSibling() {
		var one bytes.Buffer
		if err := markdown.Renderer().Render(&one, source, n); err != nil {
			return "", "", nil, err
		}
		if h, ok := n.(*ast.Heading); ok {
			finish()
			heading := strings.TrimSpace(html.UnescapeString(tags.ReplaceAllString(one.String(), "")))
			if title == "" {
				title = heading
			}
			anchor := ""
			if id, ok := h.AttributeString("id"); ok {
				anchor = string(id.([]byte))
			}
			sections = append(sections, section{Page: pageOf(file), Title: title, Anchor: anchor, Heading: heading})
		}
		b.Write(one.Bytes())
		part.Write(one.Bytes())
	}
	finish()
	return title, b.String(), sections, nil
}

// relink returns what a link in a file of the repository is on the site.
func relink(file, to string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || u.Path == "" {
		return to
	}
	target := path.Join(path.Dir(file), u.Path)
	if dir := path.Dir(target); path.Ext(target) == ".md" && (dir == "docs" || dir == "." && target != "CONTRIBUTING.md" && target != "CHANGELOG.md") {
		u.Path = pageOf(target)
		return u.String()
	}
	return repository + target
}
