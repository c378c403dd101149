// Command extract extracts BPF test material from files of distribution packages:
//
//	extract btf VMLINUZ OUT        the raw BTF of a kernel image: compressed (bzImage, EFI zboot, gzip, s390x) or plain
//	extract skel EXECUTABLE PREFIX the BPF objects embedded in an executable (BPF skeletons): PREFIX.o, or PREFIX.0.o, PREFIX.1.o ...
//
// It knows only file formats; scripts/corpus.sh handles packages.
package main

import (
	"fmt"
	"os"

	"github.com/bpfrun/bpfrun/btf/btffile"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "extract:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("usage: extract btf VMLINUZ OUT | extract skel EXECUTABLE PREFIX")
	}
	data, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	switch args[0] {
	case "btf":
		raw, err := btffile.KernelBTF(data)
		if err != nil {
			return fmt.Errorf("%s: %w", args[1], err)
		}
		return os.WriteFile(args[2], raw, 0o644)
	case "skel":
		return writeObjects(args[1], args[2], embeddedObjects(data))
	}
	return fmt.Errorf("unknown command %q", args[0])
}

// writeObjects writes each image once: executables may embed the same object several times.
func writeObjects(source, prefix string, images [][]byte) error {
	if len(images) == 0 {
		return fmt.Errorf("%s: no embedded BPF object", source)
	}
	for i, img := range images {
		name := prefix + ".o"
		if len(images) > 1 {
			name = fmt.Sprintf("%s.%d.o", prefix, i)
		}
		if err := os.WriteFile(name, img, 0o644); err != nil {
			return err
		}
	}
	return nil
}
