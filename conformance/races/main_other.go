//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "races: bpf(2) exists on Linux only")
	os.Exit(1)
}
