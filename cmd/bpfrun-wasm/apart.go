//go:build js && wasm && apart

package main

import (
	"syscall/js"

	"github.com/bpfrun/bpfrun/btf/embedded"
)

// takeTypes adds the function that takes the embedded kernel's file.
func takeTypes(api js.Value) {
	api.Set("types", js.FuncOf(func(_ js.Value, args []js.Value) any {
		embedded.Give(bytesOf(args))
		return nil
	}))
}
