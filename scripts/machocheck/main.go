// Machocheck reads programs for macOS on a machine that cannot run them: architecture, oldest
// release of the system, libraries, and the signature without which macOS on ARM64 kills a program.
//
//	go run ./scripts/machocheck FILE...
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/macho"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
)

func main() {
	status := 0
	for _, file := range os.Args[1:] {
		text, err := check(file)
		if err != nil {
			fmt.Fprintf(os.Stderr, "machocheck: %s: %v\n", file, err)
			status = 1
			continue
		}
		fmt.Println(text)
	}
	os.Exit(status)
}

// Load commands and constants of Mach-O that debug/macho has no names for.
const (
	loadCodeSignature = 0x1d
	loadBuildVersion  = 0x32
	platformMacOS     = 1

	magicSignature = 0xfade0cc0
	magicDirectory = 0xfade0c02
	flagAdHoc      = 2
	hashSHA256     = 2
)

// check returns what is known of a program.
func check(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	f, err := macho.NewFile(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if f.Type != macho.TypeExec {
		return "", fmt.Errorf("a %v, not a program", f.Type)
	}
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return "", err
	}
	oldest, signature := "", "not signed"
	for _, l := range f.Loads {
		raw := l.Raw()
		if len(raw) < 16 {
			continue
		}
		switch f.ByteOrder.Uint32(raw) {
		case loadBuildVersion:
			if platform := f.ByteOrder.Uint32(raw[8:]); platform != platformMacOS {
				return "", fmt.Errorf("it is for platform %d", platform)
			}
			v := f.ByteOrder.Uint32(raw[12:])
			oldest = fmt.Sprintf("%d.%d", v>>16, v>>8&0xff)
		case loadCodeSignature:
			from, size := uint64(f.ByteOrder.Uint32(raw[8:])), uint64(f.ByteOrder.Uint32(raw[12:]))
			if from+size > uint64(len(data)) {
				return "", errors.New("the signature is beyond the end of the file")
			}
			if signature, err = signed(data, data[from:from+size]); err != nil {
				return "", err
			}
		}
	}
	if oldest == "" {
		return "", errors.New("it does not say for which macOS it is")
	}
	if f.Cpu == macho.CpuArm64 && signature == "not signed" {
		return "", errors.New("it has no signature, without which macOS on ARM64 runs nothing")
	}
	return fmt.Sprintf("%v, %s, macOS %s or later, %s, libraries %v", f.Cpu, signature, oldest, info.GoVersion, libraries), nil
}

// signed checks the hashes of all pages against those in the signature.
func signed(data, signature []byte) (string, error) {
	be := binary.BigEndian
	if len(signature) < 12 || be.Uint32(signature) != magicSignature {
		return "", errors.New("the signature has no beginning")
	}
	for i := range be.Uint32(signature[8:]) {
		at := 12 + 8*uint64(i)
		if at+8 > uint64(len(signature)) {
			return "", errors.New("the signature's index is cut")
		}
		from := uint64(be.Uint32(signature[at+4:]))
		if from+44 > uint64(len(signature)) {
			return "", errors.New("a part of the signature is beyond its end")
		}
		d := signature[from:]
		if be.Uint32(d) != magicDirectory {
			continue
		}
		flags, hashes, slots, limit := be.Uint32(d[12:]), uint64(be.Uint32(d[16:])), uint64(be.Uint32(d[28:])), uint64(be.Uint32(d[32:]))
		size, kind, shift := uint64(d[36]), d[37], d[39]
		if kind != hashSHA256 || size != sha256.Size || flags&flagAdHoc == 0 || shift > 20 {
			return "", fmt.Errorf("a signature of another kind: hash %d, flags %#x", kind, flags)
		}
		page := uint64(1) << shift
		if limit > uint64(len(data)) || slots != (limit+page-1)/page || hashes+slots*size > uint64(len(d)) {
			return "", errors.New("the signature does not cover the file")
		}
		for n := range slots {
			sum := sha256.Sum256(data[n*page : min((n+1)*page, limit)])
			if !bytes.Equal(sum[:], d[hashes+n*size:hashes+(n+1)*size]) {
				return "", fmt.Errorf("page %d differs from its hash", n)
			}
		}
		return fmt.Sprintf("signed ad hoc, %d pages", slots), nil
	}
	return "", errors.New("the signature has no hashes")
}
