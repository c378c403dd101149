// Package grammar is what all parts of scenario files have in common: YAML as nodes with positions,
// mistakes, forms that decoding and documentation follow, values, and expectations that are checked.
// Start from [ParseYAML], [Form] and [Checks]. It does not know what a scenario contains.
package grammar
