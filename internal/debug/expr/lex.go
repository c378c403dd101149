package expr

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Enclosed parenthesizes an expression unless a postfix operator would apply to it as a whole.
func Enclosed(expr string) string {
	depth := 0
	for i := 0; i < len(expr); i++ {
		switch c := expr[i]; {
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case depth > 0, isLetter(c), isDigit(c), c == '.', c == '$':
		case c == '-' && i+1 < len(expr) && expr[i+1] == '>':
			i++
		default:
			return "(" + expr + ")"
		}
	}
	return expr
}

// SyntaxError is an expression that cannot be parsed.
type SyntaxError struct {
	Text string
	Pos  int // byte offset in Text
	Why  string
}

// Error reports the problem and its position.
func (e *SyntaxError) Error() string {
	near := e.Text[min(e.Pos, len(e.Text)):]
	if near == "" {
		return e.Why + " at the end of the expression"
	}
	const most = 80 // the rest may be as long as the expression
	if len(near) > most {
		near = near[:most] + "..."
	}
	return fmt.Sprintf("%s at %q", e.Why, near)
}

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokReg // $name
	tokNumber
	tokString
	tokChar
	tokBrace // {...}, unparsed
	tokOp
)

type token struct {
	kind tokenKind
	text string // name, operator, string content or brace text
	num  uint64
	big  bool // the number does not fit in int64, or has a u suffix
	pos  int
}

// operators of more than one character, longest first.
var operators = []string{"<<=", ">>=", "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "++", "--"}

// lex splits an expression into tokens.
func lex(text string) ([]token, error) {
	var out []token
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case isLetter(c) || c == '$':
			j := i + 1
			for j < len(text) && (isLetter(text[j]) || isDigit(text[j]) || text[j] == '$' && c == '$') {
				j++
			}
			k := tokName
			if c == '$' {
				k = tokReg
			}
			out = append(out, token{kind: k, text: text[i:j], pos: i})
			i = j
		case isDigit(c):
			t, n, err := lexNumber(text, i)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			i = n
		case c == '"' || c == '\'':
			t, n, err := lexQuoted(text, i)
			if err != nil {
				return nil, err
			}
			out = append(out, t)
			i = n
		case c == '{':
			n := braceEnd(text, i)
			if n < 0 {
				return nil, &SyntaxError{text, i, "unbalanced braces"}
			}
			out = append(out, token{kind: tokBrace, text: text[i:n], pos: i})
			i = n
		default:
			op := ""
			for _, o := range operators {
				if strings.HasPrefix(text[i:], o) {
					op = o
					break
				}
			}
			if op == "" {
				if !strings.ContainsRune("+-*/%&|^~!<>=?:().,[]@", rune(c)) {
					return nil, &SyntaxError{text, i, "unexpected character"}
				}
				op = string(c)
			}
			out = append(out, token{kind: tokOp, text: op, pos: i})
			i += len(op)
		}
	}
	return append(out, token{kind: tokEnd, pos: len(text)}), nil
}

func isLetter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func lexNumber(text string, i int) (token, int, error) {
	j := i
	for j < len(text) && (isLetter(text[j]) || isDigit(text[j])) {
		j++
	}
	word := text[i:j]
	digits := strings.TrimRight(word, "uUlL")
	if strings.HasPrefix(strings.ToLower(word), "0x") {
		digits = "0x" + strings.TrimRight(word[2:], "uUlL")
	}
	n, err := strconv.ParseUint(digits, 0, 64)
	if err != nil {
		return token{}, 0, &SyntaxError{text, i, "bad number"}
	}
	big := n > 1<<63-1 || strings.ContainsAny(word[len(digits):], "uU")
	return token{kind: tokNumber, num: n, big: big, pos: i, text: word}, j, nil
}

func lexQuoted(text string, i int) (token, int, error) {
	q := text[i]
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case '\\':
			j++
		case q:
			var s string
			for rest := text[i+1 : j]; rest != ""; {
				r, multi, tail, err := strconv.UnquoteChar(rest, q)
				if err != nil {
					return token{}, 0, &SyntaxError{text, i, "bad escape"}
				}
				if multi {
					s += string(r)
				} else {
					s += string([]byte{byte(r)})
				}
				rest = tail
			}
			if q == '"' {
				return token{kind: tokString, text: s, pos: i}, j + 1, nil
			}
			if len(s) != 1 {
				return token{}, 0, &SyntaxError{text, i, "want one character"}
			}
			return token{kind: tokChar, num: uint64(s[0]), pos: i}, j + 1, nil
		}
	}
	return token{}, 0, &SyntaxError{text, i, "unterminated quote"}
}

// braceEnd returns the end of the brace group at i, -1 if it is not closed.
func braceEnd(text string, i int) int {
	depth, quote := 0, byte(0)
	for ; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == '\\' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
