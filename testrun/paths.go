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
)

// IsScenario reports whether a file is a scenario by its name.
func IsScenario(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".yaml" || ext == ".yml"
}

// Paths returns the scenario files, and the objects that may have tests inside, that an argument means: of a directory all below it, of an
// object itself and the scenario files beside it. The error is that of a file which cannot be read.
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
		return []string{arg}, nil, nil // also .json, and whatever the user says is one
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
		if err != nil || !d.Type().IsRegular() {
			return err
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

// ScenarioBeside returns the name that a scenario file beside an object has.
func ScenarioBeside(object string) string { return stem(object) + ".yaml" }

func stem(object string) string {
	return strings.TrimSuffix(strings.TrimSuffix(object, ".o"), ".bpf")
}

// mayHaveTests reports whether a file found in a directory is worth opening: it holds a section name of a test, or it is a BPF object that
// has been cut off before its section names, which must not go unnoticed. A directory may also hold objects of the host and others
// that are none of ours.
func mayHaveTests(path string) bool {
	data, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	if bytes.Contains(data, []byte("/test/")) {
		return true
	}
	const header = 64 // of an ELF file of 64 bits
	if len(data) < header || string(data[:4]) != elf.ELFMAG || data[elf.EI_DATA] != byte(elf.ELFDATA2LSB) {
		return false
	}
	le := binary.LittleEndian
	machine, sections := elf.Machine(le.Uint16(data[18:])), le.Uint64(data[40:])
	return machine == elf.EM_BPF && sections > uint64(len(data))
}
