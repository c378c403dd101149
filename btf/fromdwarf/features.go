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
	// DistilledBase: a module's BTF comes with the parts of its base that it needs (.BTF.base). The
	// caller implements it with btf.Distill.
	DistilledBase
	// Layout: a section with the sizes of all kinds (Linux 7.2). The caller implements it with
	// btf.WithLayout.
	Layout
	// OptimizedFunc: functions that are in the symbol table only with a suffix, such as .isra.0 or
	// .constprop.0, under their names without it.
	OptimizedFunc
	// ConsistentFunc: no functions whose prototypes differ between units.
	ConsistentFunc
	// TrueSignature: functions with suffixes under their full names and with the parameters that
	// optimization left; it implies OptimizedFunc.
	TrueSignature
	// always are features that cannot be switched off: output is reproducible and no name is an
	// error (reproducible_build, encode_force, force_cu_merging).
	always
)

// DefaultFeatures are the features of current kernels' BTF.
const DefaultFeatures = Var | Float | DeclTag | TypeTag | Enum64

// functionFeatures are the features that depend on where functions and their parameters are. With
// any of them, functions are left out whose parameters are not where the calling convention puts
// them, that BTF cannot describe after optimization, or whose name has several addresses.
const functionFeatures = OptimizedFunc | ConsistentFunc | TrueSignature

// ErrFeature means that a feature has an unknown name; test with [errors.Is].
var ErrFeature = errors.New("BTF feature")

var featureNames = []struct {
	name string
	bit  Features
}{
	{"var", Var}, {"float", Float}, {"decl_tag", DeclTag}, {"type_tag", TypeTag}, {"enum64", Enum64}, {"global_var", GlobalVar},
	{"decl_tag_kfuncs", KfuncTags}, {"attributes", Attributes}, {"distilled_base", DistilledBase}, {"layout", Layout},
	{"optimized_func", OptimizedFunc}, {"consistent_func", ConsistentFunc}, {"true_signature", TrueSignature},
	{"encode_force", always}, {"reproducible_build", always}, {"force_cu_merging", always},
}

// ParseFeatures parses a comma-separated list of names. The error is [ErrFeature].
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
