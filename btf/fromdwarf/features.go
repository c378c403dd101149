package fromdwarf

import (
	"errors"
	"fmt"
	"strings"
)

// Features are optional parts of BTF; they have the names of pahole's --btf_features.
type Features uint32

// The features.
const (
	// Var: per-CPU variables.
	Var Features = 1 << iota
	// Float: kind FLOAT; without it, floating-point types become INT.
	Float
	// DeclTag: DECL_TAG.
	DeclTag
	// TypeTag: TYPE_TAG.
	TypeTag
	// Enum64: ENUM64; without it, enums of more than 4 bytes lose the upper half of their values.
	Enum64
	// GlobalVar: global variables of all sections.
	GlobalVar
	// KfuncTags: decl tags bpf_kfunc and bpf_fastcall of kfuncs (decl_tag_kfuncs).
	KfuncTags
	// Attributes: type attribute address_space(1) of kfuncs' arena pointers.
	Attributes
	// DistilledBase: a module's BTF comes with the parts of its base that it needs (.BTF.base). The caller implements it with btf.Distill.
	DistilledBase
	// Layout: a section with the sizes of all kinds (Linux 7.2). The caller implements it with btf.WithLayout.
	Layout
	// always are features that cannot be switched off: output is reproducible and no name is an error (reproducible_build, encode_force, force_cu_merging).
	always
)

// DefaultFeatures are the features of current kernels' BTF.
const DefaultFeatures = Var | Float | DeclTag | TypeTag | Enum64

// Errors; test with [errors.Is].
var (
	// ErrFeature: there is no feature of that name.
	ErrFeature = errors.New("BTF feature")
	// ErrNotMade: the feature is known but not implemented.
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

// unmade are pahole's features that are not implemented, with the reason.
var unmade = map[string]string{
	"optimized_func":  "it needs the locations of parameters in optimized code",
	"consistent_func": "it needs the locations of parameters in optimized code",
	"true_signature":  "it needs the locations of parameters in optimized code",
}

// ParseFeatures parses a comma-separated list of names. Errors are [ErrFeature] and [ErrNotMade].
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

// FeatureNames lists the names that ParseFeatures accepts.
func FeatureNames() string {
	var names []string
	for _, f := range featureNames {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
