// Package web is the playground's page: plain ES modules, without a build step. It is served from the installed binary (bpfrun play) and as a
// static site (make site) with bpfrun in WebAssembly.
//
// It knows the files of the page and its examples. It does not know what answers the page's messages.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package web

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"

	"github.com/bpfrun/bpfrun/examples"
	"github.com/bpfrun/bpfrun/internal/markup"
)

//go:embed *.html *.css *.js *.svg *.webmanifest views/*.js examples.json examples/*.o
var files embed.FS

// Example is an object that the page offers.
type Example struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// File is its path on the site.
	File string `json:"file"`
	// Kernel is the one to begin with, if the page has it: the embedded one lacks what the programs need.
	Kernel string `json:"kernel,omitempty"`
}

// Kernel is a file with a kernel's types that the page offers.
type Kernel struct {
	Name string `json:"name"`
	File string `json:"file"`
}

// Config is site.json, which tells the page what there is.
type Config struct {
	// Engine answers the messages: wasm, a worker with bpfrun.wasm, or http, the server that the page is from.
	Engine   string    `json:"engine"`
	Version  string    `json:"version"`
	Examples []Example `json:"examples"`
	Kernels  []Kernel  `json:"kernels"`
	// Open is the object to begin with; nil for the first example.
	Open *Example `json:"open,omitempty"`
	// Docs is the path of the documentation, "" for none.
	Docs string `json:"docs,omitempty"`
}

// Site returns the files of the site by path, site.json from the configuration among them. Its examples are added to those of the configuration.
func Site(c Config) (map[string][]byte, error) {
	// Timelines look and move as on pages of reports.
	out := map[string][]byte{"timeline.js": []byte(markup.TimelineModule), "timeline.css": []byte(markup.TimelineCSS)}
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == "examples.json" {
			return err
		}
		out[path], err = files.ReadFile(path)
		return err
	})
	if err != nil {
		return nil, err
	}
	list, err := listed()
	if err != nil {
		return nil, err
	}
	for _, e := range list {
		if e.File == "" { // one of the repository's examples
			object := e.Name + ".bpf.o"
			if out["examples/"+object], err = examples.Objects.ReadFile(e.Name + "/" + object); err != nil {
				return nil, err
			}
			e.File = object
		}
		e.File = "examples/" + e.File
		if out[e.File] == nil {
			return nil, fmt.Errorf("web: example %s has no file %s", e.Name, e.File)
		}
		c.Examples = append(c.Examples, e)
	}
	if c.Kernels == nil {
		c.Kernels = []Kernel{}
	}
	out["site.json"], err = json.Marshal(c)
	return out, err
}

// listed returns the examples of examples.json.
func listed() ([]Example, error) {
	text, err := files.ReadFile("examples.json")
	if err != nil {
		return nil, err
	}
	var list []Example
	return list, json.Unmarshal(text, &list)
}
