package grammar

import (
	"fmt"

	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// maxNesting limits brackets inside each other, and keys, dashes and tags that follow each other on
// a line: the recursive YAML parser needs memory for each, and time in proportion to their square.
const maxNesting = 4 * maxDepth

// shallow rejects nesting that is too deep for the YAML parser. Brackets and colons in quoted
// strings, comments and blocks of text are no nesting; only the tokens of files with many of them
// are looked at.
func shallow(file string, data []byte) error {
	if maybeShallow(data) {
		return nil
	}
	var s scanner.Scanner
	s.Init(string(data))
	brackets, marks, line := 0, 0, 0
	for {
		tokens, err := s.Scan()
		for _, t := range tokens {
			if t.Position.Line != line {
				line, marks = t.Position.Line, 0
			}
			what := ""
			switch t.Type {
			case token.SequenceStartType, token.MappingStartType:
				brackets++
			case token.SequenceEndType, token.MappingEndType:
				brackets = max(brackets-1, 0)
			case token.CollectEntryType: // the next element is not inside this one
				marks = 0
			case token.SequenceEntryType, token.MappingKeyType, token.MappingValueType, token.TagType, token.AnchorType:
				marks++
			}
			switch {
			case brackets > maxNesting:
				what = fmt.Sprintf("nested more than %d deep", maxDepth)
			case marks > maxNesting:
				what = fmt.Sprintf("more than %d keys, dashes or tags follow each other on this line: text that contains %q or %q needs quotes", maxNesting, ": ", "- ")
			default:
				continue
			}
			return &Error{Pos: Pos{file, max(t.Position.Line, 1), max(t.Position.Column, 1)}, Text: what}
		}
		if err != nil { // the end, or a mistake at which the parser stops too
			return nil
		}
	}
}

// maybeShallow reports whether a file cannot be nested too deep, whatever its brackets and colons
// are.
func maybeShallow(data []byte) bool {
	brackets, marks := 0, 0
	for i, b := range data {
		switch b {
		case '[', '{':
			brackets++
		case ']', '}':
			brackets = max(brackets-1, 0)
		case '\n':
			marks = 0
		case ',':
			if brackets > 0 {
				marks = 0
			}
		case '-', '?', ':', '!', '&':
			if i+1 < len(data) && (data[i+1] == ' ' || b == '!' || b == '&') {
				marks++
			}
		}
		if brackets > maxNesting || marks > maxNesting {
			return false
		}
	}
	return true
}
