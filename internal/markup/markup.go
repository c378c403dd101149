// Package markup writes HTML. It stands in for html/template, which takes a megabyte of the binary by itself and another by its use of
// reflection: the linker then keeps every exported method of every type.
//
// This package belongs to the command; it is not part of the Go API (docs/api.md).
package markup

import (
	"fmt"
	"html"
	"strings"
)

// HTML is text that is HTML already: it is written as it is.
type HTML string

// Page is a page being written.
type Page struct{ b strings.Builder }

// Printf writes a format of HTML. Arguments other than numbers and [HTML] are escaped, for text between tags and for values of attributes
// in double quotes; nowhere else may they stand.
func (p *Page) Printf(format string, args ...any) {
	p.b.WriteString(string(Sprintf(format, args...)))
}

// Write writes HTML as it is.
func (p *Page) Write(s HTML) { p.b.WriteString(string(s)) }

func (p *Page) String() string { return p.b.String() }

// Sprintf makes HTML as [Page.Printf] writes it.
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
