package grammar

import "strings"

// Form describes a mapping of the file format. Decoding, the reference and the JSON
// Schema follow forms.
type Form struct {
	Name, Doc string
	Members   []Member
}

// Member is a member of a form.
type Member struct {
	Name, Doc string
	Shape     Shape
	Required  bool
	Unless    string // another member without which it is required
}

// Shape is the form of a value.
type Shape struct {
	Kind shapeKind
	Form *Form  // for shapeForm
	Elem *Shape // for lists and maps
	Alts []Shape
}

// shapeKind says what a value is.
type shapeKind uint8

const (
	shapeAny shapeKind = iota // decided by a BTF type
	ShapeText
	ShapeInteger
	ShapeBool
	ShapeDuration
	ShapeRelease // a string that YAML may parse as a number
	ShapeList
	ShapeMap // any names
	ShapeForm
	ShapeOneOf
)

// ListOf is the shape of a list.
func ListOf(e Shape) Shape { return Shape{Kind: ShapeList, Elem: &e} }

// MapOf is the shape of a mapping with any keys.
func MapOf(e Shape) Shape { return Shape{Kind: ShapeMap, Elem: &e} }

// FormOf is the shape of a mapping that a form describes.
func FormOf(f *Form) Shape { return Shape{Kind: ShapeForm, Form: f} }

// OneOf is the shape of values that have one of several.
func OneOf(alts ...Shape) Shape { return Shape{Kind: ShapeOneOf, Alts: alts} }

// ShapeOf is the shape of a plain value.
func ShapeOf(k shapeKind) Shape { return Shape{Kind: k} }

// Names lists the members.
func (f *Form) Names() []string { return memberNames(f.Members) }

// Has reports whether a form has a member.
func (f *Form) Has(name string) bool {
	for i := range f.Members {
		if f.Members[i].Name == name {
			return true
		}
	}
	return false
}

func memberNames(m []Member) []string {
	names := make([]string, len(m))
	for i := range m {
		names[i] = m[i].Name
	}
	return names
}

// Shapes of plain values.
var (
	Text     = ShapeOf(ShapeText)
	Integer  = ShapeOf(ShapeInteger)
	Duration = ShapeOf(ShapeDuration)
	Release  = ShapeOf(ShapeRelease)
	Anything = ShapeOf(shapeAny)
)

// Words describes a shape.
func (s Shape) Words() string {
	switch s.Kind {
	case ShapeText:
		return "text"
	case ShapeInteger:
		return "integer"
	case ShapeRelease:
		return "release"
	case ShapeBool:
		return "true or false"
	case ShapeDuration:
		return "duration"
	case ShapeList:
		return "list of " + s.Elem.Words()
	case ShapeMap:
		return "mapping of names to " + s.Elem.Words()
	case ShapeForm:
		return s.Form.Name
	case ShapeOneOf:
		text := ""
		for i, a := range s.Alts {
			if i > 0 {
				text += ", or "
			}
			text += a.Words()
		}
		return text
	}
	return "value"
}

// Fields checks that a node is a mapping with the members of a form.
func (n *Node) Fields(f *Form) error {
	if n.Kind != Mapping {
		return n.Errorf("%s: want a mapping with %s, got %s", f.Name, strings.Join(f.Names(), ", "), n.Describe())
	}
	var wrong Mistakes
	for _, p := range n.Pairs {
		if !f.Has(p.Key.Text) {
			wrong.Add(p.Key.Unknown("key of "+f.Name, p.Key.Text, f.Names()))
		}
	}
	for _, m := range f.Members {
		if m.Required && n.Get(m.Name) == nil && (m.Unless == "" || n.Get(m.Unless) == nil) && wrong.Err() == nil && !n.Lost { // otherwise the misspelled key may be the required one
			e := n.Errorf("%s needs %q", f.Name, m.Name)
			e.Missing = m.Name
			wrong.Add(e)
		}
	}
	return wrong.Err()
}
