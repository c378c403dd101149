//go:build js && wasm

// Command bpfrun-wasm is bpfrun for a page: it answers the messages of package play in a Web Worker
// (web/worker.js), or in anything else that runs js/wasm.
//
// It sets globalThis.bpfrun = {answer(Uint8Array): Uint8Array} and then calls
// globalThis.bpfrunReady(). Built with the tag apart, it also sets types(Uint8Array), to be called
// with the embedded kernel's file before the first message.
package main

import (
	"context"
	"runtime/debug"
	"syscall/js"

	"github.com/bpfrun/bpfrun/internal/app/play"
)

// memoryLimit is where the garbage collector works harder, far below the 4 GiB that WebAssembly
// has.
const memoryLimit = 1 << 30

func main() {
	debug.SetMemoryLimit(memoryLimit)
	player := play.New(play.Config{})
	array := js.Global().Get("Uint8Array")
	api := js.Global().Get("Object").New()
	api.Set("answer", js.FuncOf(func(_ js.Value, args []js.Value) any {
		answer := player.Answer(context.Background(), bytesOf(args))
		out := array.New(len(answer))
		js.CopyBytesToJS(out, answer)
		return out
	}))
	takeTypes(api)
	js.Global().Set("bpfrun", api)
	js.Global().Call("bpfrunReady")
	select {} // answers come from the page's event loop
}

// bytesOf returns the bytes that a function is called with.
func bytesOf(args []js.Value) []byte {
	if len(args) != 1 || !args[0].InstanceOf(js.Global().Get("Uint8Array")) {
		return nil
	}
	b := make([]byte, args[0].Length())
	js.CopyBytesToGo(b, args[0])
	return b
}
