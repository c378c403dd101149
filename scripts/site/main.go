// Site builds the playground as a static site, which any server of files can serve:
//
//	go run ./scripts/site DIR [KERNEL...]
//
// It compiles bpfrun for WebAssembly, and adds the page, the examples, the documentation with a
// search, and the types of the kernels in files such as testdata/btf/linux-7.2.13-amd64.btf.xz.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"github.com/bpfrun/bpfrun/btf/btffile"
	"github.com/bpfrun/bpfrun/btf/embedded"
	"github.com/bpfrun/bpfrun/internal/kernels"
	"github.com/bpfrun/bpfrun/web"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: site DIR [KERNEL...]")
		os.Exit(2)
	}
	if err := build(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

func build(dir string, types []string) error {
	c := web.Config{Engine: "wasm", Version: version(), Docs: "docs/"}
	out, err := documentation()
	if err != nil {
		return err
	}
	for _, path := range types {
		name := kernels.FileSource(path).Name
		data, err := repacked(path)
		if err != nil {
			return err
		}
		k := web.Kernel{Name: name, File: "kernels/" + name + ".btf.zst"}
		out[k.File] = data
		c.Kernels = append(c.Kernels, k)
	}
	files, err := web.Site(c)
	if err != nil {
		return err
	}
	for path, data := range files {
		out[path] = data
	}
	if out["bpfrun.wasm.gzip"], err = wasm(); err != nil {
		return err
	}
	// The types are loaded beside the program, so that neither waits for the other.
	if out["embedded.btf.zst"], err = os.ReadFile("btf/embedded/" + embedded.Name + ".btf.zst"); err != nil {
		return err
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return err
	}
	if out["wasm_exec.js"], err = os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib/wasm/wasm_exec.js")); err != nil {
		return err
	}
	for path, data := range out {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	fmt.Printf("%s: %d files; bpfrun.wasm.gzip has %d bytes\n", dir, len(out), len(out["bpfrun.wasm.gzip"]))
	return nil
}

// version describes the commit.
func version() string {
	out, err := exec.Command("git", "describe", "--always", "--tags", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// wasm compiles bpfrun and compresses it: not every server does that for WebAssembly.
func wasm() ([]byte, error) {
	dir, err := os.MkdirTemp("", "bpfrun-site")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "bpfrun.wasm")
	args := append([]string{"build", "-trimpath", "-tags", "apart", "-ldflags", "-s -w", "-o", file}, inlined()...)
	cmd := exec.Command("go", append(args, "./cmd/bpfrun-wasm")...)
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go build: %w", err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return packed(data)
}

// inlined returns the compiler's flags: functions are inlined only where programs run or are
// verified. Everywhere else the copies would make the compressed program 6 % larger.
func inlined() []string {
	const internal = "-gcflags=github.com/bpfrun/bpfrun/internal/"
	flags := []string{internal + "...=-l"}
	for _, hot := range []string{"mem", "maps", "machine", "verifier/..."} {
		flags = append(flags, internal+hot+"=")
	}
	return flags
}

// largest is the limit of the compressed program, in bytes: what it needs more goes into files of
// its own.
const largest = 8_000_000

// packed compresses the program: by gzip, which packs it 1 % better than Go's package, if it is
// installed.
func packed(data []byte) ([]byte, error) {
	var b bytes.Buffer
	if path, err := exec.LookPath("gzip"); err == nil {
		cmd := exec.Command(path, "-9", "-n", "-c")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(data), &b, os.Stderr
		if err := cmd.Run(); err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
	} else if err := packedByGo(&b, data); err != nil {
		return nil, err
	}
	if b.Len() > largest {
		return nil, fmt.Errorf("bpfrun.wasm.gzip has %d bytes, more than %d", b.Len(), largest)
	}
	return b.Bytes(), nil
}

func packedByGo(w io.Writer, data []byte) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err = z.Write(data); err != nil {
		return err
	}
	return z.Close()
}

// repacked returns a kernel's types in zstd, which a page unpacks in a tenth of the time that xz
// takes.
func repacked(path string) ([]byte, error) {
	spec, err := btffile.Load(path, nil)
	if err != nil {
		return nil, err
	}
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	if err != nil {
		return nil, err
	}
	return z.EncodeAll(spec.Raw(), nil), z.Close()
}
