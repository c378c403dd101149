// Package worded rewords errors of the standard library for users who do not know Go: those of
// encoding/json, encoding/hex, strconv and time name Go types and functions.
package worded

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strconv"
	"strings"
)

// wordedError is an error with a text for users.
type wordedError struct {
	text string
	err  error
}

// Error returns the text for users.
func (w *wordedError) Error() string { return w.text }

// Unwrap returns the error of the standard library.
func (w *wordedError) Unwrap() error { return w.err }

// Error rewords a decoding error that mentions Go; it returns other errors and nil unchanged. Call
// it where the error arises, since the text of wrapping errors is dropped. errors.Is and errors.As
// still find the original.
func Error(err error) error {
	if text := text(err); text != "" {
		return &wordedError{text, err}
	}
	return err
}

func text(err error) string {
	var (
		syntax *json.SyntaxError
		kind   *json.UnmarshalTypeError
		num    *strconv.NumError
		digit  hex.InvalidByteError
	)
	switch {
	case err == nil:
	case errors.As(err, &syntax):
		if strings.HasPrefix(syntax.Error(), "unexpected end") {
			return "the JSON is truncated"
		}
		return fmt.Sprintf("not JSON at byte %d", syntax.Offset)
	case errors.As(err, &kind):
		found, _, _ := strings.Cut(kind.Value, " ") // "number 1.5" for a number that does not fit
		if found == "number" && wanted(kind.Type) == "a whole number" {
			return fmt.Sprintf("%s%s does not fit", member(kind.Field), kind.Value)
		}
		return fmt.Sprintf("%s%s, want %s", member(kind.Field), article(found), wanted(kind.Type))
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the end is missing"
	case errors.As(err, &num) && errors.Is(num.Err, strconv.ErrRange):
		return num.Num + " is out of range"
	case errors.As(err, &num):
		return fmt.Sprintf("%q is not a number", num.Num)
	case errors.Is(err, strconv.ErrSyntax):
		return "unknown escape sequence"
	case errors.As(err, &digit):
		return fmt.Sprintf("%q is not a hex digit", rune(digit))
	case errors.Is(err, hex.ErrLength):
		return "an odd number of hex digits"
	case strings.HasPrefix(err.Error(), "json: unknown field "):
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	return ""
}

func member(field string) string {
	if field == "" {
		return ""
	}
	return "member " + field + ": "
}

// article returns a JSON type with its article.
func article(kind string) string {
	switch kind {
	case "array", "object":
		return "an " + kind
	case "bool":
		return "true or false"
	}
	return "a " + kind
}

// wanted returns the JSON type that decodes into a Go type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Pointer:
		return wanted(t.Elem())
	}
	return "a whole number"
}
