//go:build !linux

package bpfprobe

func loadProgram() int { return 1 }
