package markup

import _ "embed"

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
		policy += "; script-src 'unsafe-inline'"
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
		p.Printf("<script>\n%s</script>\n", HTML(f.Script))
	}
	p.Write("</body>\n</html>\n")
}
