//go:build js && wasm && !apart

package main

import "syscall/js"

// takeTypes adds nothing: the embedded kernel's types are in the program.
func takeTypes(js.Value) {}
