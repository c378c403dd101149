// Package markup writes HTML. It replaces html/template, which adds a megabyte to the binary and
// another by its use of reflection, which makes the linker keep every exported method of every
// type.
package markup

import (
	"fmt"
	"html"
	"strings"
)

// HTML is text that is already HTML and is written unchanged.
type HTML string

// Page is a page being written.
type Page struct{ b strings.Builder }

// Printf writes HTML by a format. Arguments other than numbers and [HTML] are escaped for text
// between tags and for double-quoted attribute values, the only places where they may be used.
func (p *Page) Printf(format string, args ...any) {
	p.b.WriteString(string(Sprintf(format, args...)))
}

// Write writes HTML unchanged.
func (p *Page) Write(s HTML) { p.b.WriteString(string(s)) }

func (p *Page) String() string { return p.b.String() }

// Sprintf returns what [Page.Printf] writes.
func Sprintf(format string, args ...any) HTML {
	escaped := make([]any, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case HTML, int, uint64, float64:
			escaped[i] = a
		default:
			escaped[i] = html.EscapeString(fmt.Sprint(a))
		}
	}
	return HTML(fmt.Sprintf(format, escaped...))
}

// Escape returns text as markup.
func Escape(text string) HTML { return HTML(html.EscapeString(text)) }

// Tag is a word in the colour of a class.
func Tag(class, text string) HTML { return Sprintf(`<span class="tag %s">%s</span>`, class, text) }
