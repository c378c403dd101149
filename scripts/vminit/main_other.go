//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "vminit: runs as the first process of a Linux virtual machine")
	os.Exit(2)
}
