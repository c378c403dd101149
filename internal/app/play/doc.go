// Package play answers the messages of the playground: a page in a browser that opens objects,
// runs, steps and verifies their programs on kernels, and compares kernels. A message is a JSON
// object with a name of what to do, an answer a JSON object with a result or an error.
//
// It knows objects, kernels and what commands would print of them: results are the documents of
// package report. It does not know how messages arrive: from a page to a worker (cmd/bpfrun-wasm),
// or over HTTP (bpfrun play). Messages are hostile: whatever they hold, the answer is an error, and
// what they make the simulation keep is bounded.
//
// Start at [New] and [Player.Answer]; the table of messages is in message.go.
package play
