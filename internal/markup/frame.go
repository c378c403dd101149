package markup

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
)

// The style that all pages share: colours, type, tables, tags; light, dark, on paper, and on narrow
// screens.
//
//go:embed page.css
var pageCSS string

// Frame is what a page has around its contents.
type Frame struct {
	Title string
	// CSS is added to the style that all pages share.
	CSS string
	// Script runs at the end of the body; "" is a page without scripts.
	Script string
}

// Begin writes the beginning of a page, up to its body. The page needs nothing from the network,
// and its policy lets it fetch nothing.
func (p *Page) Begin(f Frame) {
	policy := "default-src 'none'; style-src 'unsafe-inline'"
	if f.Script != "" {
		// This script and no other, whatever the names on the page are.
		sum := sha256.Sum256([]byte(f.inline()))
		policy += "; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	p.Printf(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="%s">
<title>%s</title>
<style>
%s%s</style>
</head>
<body>
`, HTML(policy), f.Title, HTML(pageCSS), HTML(f.CSS))
}

// End writes the end of a page that [Page.Begin] began.
func (p *Page) End(f Frame) {
	if f.Script != "" {
		p.Printf("<script>%s</script>\n", HTML(f.inline()))
	}
	p.Write("</body>\n</html>\n")
}

// inline is the script as it is between its tags.
func (f *Frame) inline() string { return "\n" + f.Script }
