package testrun

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/bpfrun/bpfrun/internal/project"
)

// IsScenario reports whether path has the name of a scenario file.
func IsScenario(path string) bool {
	ext := filepath.Ext(path)
	return (ext == ".yaml" || ext == ".yml") && filepath.Base(path) != project.Name
}

// Paths expands an argument to scenario files and to objects that may have tests inside. A
// directory stands for all files below it, an object for itself and the scenario files beside it.
// The error names a file that cannot be read.
func Paths(arg string) (scenarios, objects []string, err error) {
	info, err := os.Stat(arg)
	var failed *fs.PathError
	switch {
	case errors.As(err, &failed):
		return nil, nil, fmt.Errorf("%s: %w", arg, failed.Err) // without the system call's name
	case err != nil:
		return nil, nil, err
	case info.IsDir():
		return directory(arg)
	case filepath.Ext(arg) != ".o":
		return []string{arg}, nil, nil // the user chose the file: any name is accepted
	}
	base := stem(filepath.Base(arg))
	dir, err := os.ReadDir(filepath.Dir(arg))
	if err != nil {
		return nil, nil, err
	}
	for _, e := range dir {
		if IsScenario(e.Name()) && strings.HasPrefix(e.Name(), base+".") {
			scenarios = append(scenarios, filepath.Join(filepath.Dir(arg), e.Name()))
		}
	}
	return scenarios, []string{arg}, nil
}

func directory(dir string) (scenarios, objects []string, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch hidden := path != dir && strings.HasPrefix(d.Name(), "."); {
		case err != nil:
			return err
		case hidden && d.IsDir():
			return filepath.SkipDir // of tools, such as .git and .github
		case hidden || !d.Type().IsRegular():
			return nil
		}
		if IsScenario(path) {
			scenarios = append(scenarios, path)
		} else if filepath.Ext(path) == ".o" && mayHaveTests(path) {
			objects = append(objects, path)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return scenarios, objects, nil
}

// ScenarioBeside returns the name of the scenario file that belongs to an object.
func ScenarioBeside(object string) string { return stem(object) + ".yaml" }

func stem(object string) string {
	return strings.TrimSuffix(strings.TrimSuffix(object, ".o"), ".bpf")
}

// mayHaveTests reports whether a file found in a directory is worth opening: it contains the
// section name of a test, or it is a BPF object truncated before its section names, which must not
// pass unnoticed. Directories may also contain objects of the host and other unrelated files.
func mayHaveTests(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	if bytes.Contains(data, []byte("/test/")) {
		return true
	}
	const header = 64 // size of a 64-bit ELF header
	if len(data) < header || string(data[:4]) != elf.ELFMAG || data[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return false
	}
	le := binary.LittleEndian
	machine, sections := elf.Machine(le.Uint16(data[18:])), le.Uint64(data[40:])
	return machine == elf.EM_BPF && sections > uint64(len(data))
}
