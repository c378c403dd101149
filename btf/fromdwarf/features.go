package fromdwarf

import (
	"errors"
	"fmt"
	"strings"
)

// Features are parts of BTF that readers may not know, or not want; the bits have the names of pahole's --btf_features.
type Features uint32

// Features.
const (
	// Var: per-CPU variables.
	Var Features = 1 << iota
	// Float: FLOAT; without it, floating point types are INT, as before there was a kind for them.
	Float
	// DeclTag: DECL_TAG.
	DeclTag
	// TypeTag: TYPE_TAG.
	TypeTag
	// Enum64: ENUM64; without it, enums of more than 4 bytes lose the upper half of their values.
	Enum64
	// GlobalVar: global variables of all sections.
	GlobalVar
	// KfuncTags: kfuncs have the declaration tag bpf_kfunc, and bpf_fastcall (decl_tag_kfuncs).
	KfuncTags
	// Attributes: arena pointers of kfuncs have the attribute address_space(1).
	Attributes
	// DistilledBase: a module's BTF comes with what is needed of its base (.BTF.base). It is up to the caller: see btf.Distill.
	DistilledBase
	// Layout: a section that gives the sizes of all kinds (Linux 7.2). It is up to the caller: see btf.WithLayout.
	Layout
	// always are what is so without asking: the same file gives the same BTF, and no name stops the work (reproducible_build, encode_force, force_cu_merging).
	always
)

// DefaultFeatures are those that current BTF has.
const DefaultFeatures = Var | Float | DeclTag | TypeTag | Enum64

// Kinds of errors; test with errors.Is.
var (
	// ErrFeature: the feature has no such name.
	ErrFeature = errors.New("BTF feature")
	// ErrNotMade: the feature exists and is not made.
	ErrNotMade = errors.New("is not supported")
)

var featureNames = []struct {
	name string
	bit  Features
}{
	{"var", Var}, {"float", Float}, {"decl_tag", DeclTag}, {"type_tag", TypeTag}, {"enum64", Enum64}, {"global_var", GlobalVar},
	{"decl_tag_kfuncs", KfuncTags}, {"attributes", Attributes}, {"distilled_base", DistilledBase}, {"layout", Layout},
	{"encode_force", always}, {"reproducible_build", always}, {"force_cu_merging", always},
}

// unmade are features of pahole that need what is not read.
var unmade = map[string]string{
	"optimized_func":  "it needs the locations of parameters in optimized code",
	"consistent_func": "it needs the locations of parameters in optimized code",
	"true_signature":  "it needs the locations of parameters in optimized code",
}

// ParseFeatures reads a list of names, separated by commas.
func ParseFeatures(list string) (Features, error) {
	var out Features
	for name := range strings.SplitSeq(list, ",") {
		found := false
		for _, f := range featureNames {
			if f.name == name {
				out |= f.bit
				found = true
			}
		}
		if why, ok := unmade[name]; ok {
			return 0, fmt.Errorf("%w %s %w: %s", ErrFeature, name, ErrNotMade, why)
		}
		if !found {
			return 0, fmt.Errorf("%w %q is unknown (available: %s)", ErrFeature, name, FeatureNames())
		}
	}
	return out &^ always, nil
}

// FeatureNames lists the names that ParseFeatures takes.
func FeatureNames() string {
	var names []string
	for _, f := range featureNames {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
