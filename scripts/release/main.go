// Command release writes the files of a release that are about its other files: the Homebrew
// formula and the provenance statement.
//
//	go run ./scripts/release -version V -repository URL -commit HASH -epoch SECONDS DIRECTORY
//
// The provenance is an in-toto statement (v1) with a SLSA predicate (v1), unsigned: whoever
// publishes signs it.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// release says what the files are of.
type release struct {
	version, repository, commit string
	built                       time.Time
}

// Names of the files.
const (
	formulaFile    = "bpfrun.rb"
	provenanceFile = "provenance.intoto.json"
)

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "version of the release")
	flag.StringVar(&r.repository, "repository", "", "URL of the repository")
	flag.StringVar(&r.commit, "commit", "", "commit it is built of")
	epoch := flag.Int64("epoch", 0, "when, in seconds since 1970")
	flag.Parse()
	r.built = time.Unix(*epoch, 0).UTC()
	if flag.NArg() != 1 || r.version == "" || r.repository == "" || r.commit == "" {
		flag.Usage()
		os.Exit(2)
	}
	if err := r.write(flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r *release) write(dir string) error {
	files, err := digests(dir)
	if err != nil {
		return err
	}
	text, err := r.formula(files)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, formulaFile), []byte(text), 0o644); err != nil {
		return err
	}
	if files, err = digests(dir); err != nil {
		return err
	}
	doc, err := json.MarshalIndent(r.provenance(files), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, provenanceFile), append(doc, '\n'), 0o644)
}

// digests returns the SHA-256 of the files in a directory, but for the provenance.
func digests(dir string) (map[string]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, e := range entries {
		if e.Name() == provenanceFile || !e.Type().IsRegular() {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		out[e.Name()] = hex.EncodeToString(h.Sum(nil))
	}
	return out, nil
}

// archive returns the name of the archive of a platform.
func (r *release) archive(goos, arch string) string {
	return fmt.Sprintf("bpfrun_%s_%s_%s.tar.gz", r.version, goos, arch)
}

// formula returns the Homebrew formula for the archives that there are.
func (r *release) formula(files map[string]string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `class Bpfrun < Formula
  desc "Run, test and debug BPF objects on any kernel's types, without a kernel"
  homepage %q
  version %q
  license "Apache-2.0"
`, r.repository, r.version)
	found := false
	for _, system := range []struct{ block, goos string }{{"macos", "darwin"}, {"linux", "linux"}} {
		var inner strings.Builder
		for _, cpu := range []struct{ block, arch string }{{"arm", "arm64"}, {"intel", "amd64"}} {
			name := r.archive(system.goos, cpu.arch)
			if sum := files[name]; sum != "" {
				fmt.Fprintf(&inner, "    on_%s do\n      url %q\n      sha256 %q\n    end\n", cpu.block, r.repository+"/releases/download/v"+r.version+"/"+name, sum)
			}
		}
		if inner.Len() > 0 {
			found = true
			fmt.Fprintf(&b, "\n  on_%s do\n%s  end\n", system.block, inner.String())
		}
	}
	if !found {
		return "", errors.New("there is no archive for macOS or Linux")
	}
	b.WriteString(`
  def install
    bin.install "bpfrun"
    man1.install Dir["man/*.1.gz"]
    bash_completion.install "completions/bpfrun.bash" => "bpfrun"
    zsh_completion.install "completions/bpfrun.zsh" => "_bpfrun"
    fish_completion.install "completions/bpfrun.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/bpfrun version")
  end
end
`)
	return b.String(), nil
}

type subject struct {
	Name   string            `json:"name"`
	Digest map[string]string `json:"digest"`
}

// provenance returns the statement about files.
func (r *release) provenance(files map[string]string) any {
	var subjects []subject
	for name, sum := range files {
		subjects = append(subjects, subject{name, map[string]string{"sha256": sum}})
	}
	slices.SortFunc(subjects, func(a, b subject) int { return strings.Compare(a.Name, b.Name) })
	type object = map[string]any
	return object{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": object{
			"buildDefinition": object{
				"buildType":          r.repository + "/blob/" + r.commit + "/scripts/release.sh",
				"externalParameters": object{"version": r.version},
				"internalParameters": object{"go": runtime.Version()},
				"resolvedDependencies": []object{
					{"uri": "git+" + r.repository, "digest": object{"gitCommit": r.commit}},
				},
			},
			"runDetails": object{
				"builder":  object{"id": r.repository + "/blob/" + r.commit + "/scripts/release.sh"},
				"metadata": object{"startedOn": r.built.Format(time.RFC3339)},
			},
		},
	}
}
