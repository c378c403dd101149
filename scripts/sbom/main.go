// Command sbom writes the software bill of materials of a Go binary as CycloneDX 1.5 JSON: the main
// module and its dependencies, from the build information embedded in the binary.
//
//	go run ./scripts/sbom BINARY OUTPUT
package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type bom struct {
	Format      string       `json:"bomFormat"`
	SpecVersion string       `json:"specVersion"`
	Version     int          `json:"version"`
	Metadata    metadata     `json:"metadata"`
	Components  []component  `json:"components"`
	Depends     []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type dependency struct {
	Ref  string   `json:"ref"`
	Uses []string `json:"dependsOn"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom BINARY OUTPUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binary, output string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(newBOM(info), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(output, append(text, '\n'), 0o666)
}

func newBOM(info *buildinfo.BuildInfo) bom {
	b := bom{Format: "CycloneDX", SpecVersion: "1.5", Version: 1, Components: []component{}}
	b.Metadata.Component = newComponent("application", info.Main.Path, info.Main.Version, info.Main.Sum)
	d := dependency{Ref: b.Metadata.Component.Ref, Uses: []string{}}
	add := func(c component) {
		b.Components = append(b.Components, c)
		d.Uses = append(d.Uses, c.Ref)
	}
	add(newComponent("library", "std", strings.TrimPrefix(info.GoVersion, "go"), ""))
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		add(newComponent("library", m.Path, m.Version, m.Sum))
	}
	b.Depends = []dependency{d}
	return b
}

// newComponent describes a module. sum is its hash in go.sum: "h1:" and the base64 form of a
// SHA-256 over its files.
func newComponent(kind, path, version, sum string) component {
	purl := "pkg:golang/" + path
	if version != "" && version != "(devel)" {
		purl += "@" + version
	}
	c := component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(raw) == 32 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(raw)}}
	}
	return c
}
