package function

import (
	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"
	"k8s.io/apiserver/pkg/cel/library"
)

const (
	// maxPrecision is how many digits format writes after the decimal point: a double has 17 significant ones.
	maxPrecision = 100
	// maxRange is the longest list that lists.range makes.
	maxRange = 100_000
)

// Libraries returns the functions and macros: those of cel-go and of Kubernetes, in fixed versions, and Kanon's own.
func Libraries() []cel.EnvOption {
	return []cel.EnvOption{
		cel.OptionalTypes(cel.OptionalTypesVersion(2)),

		ext.Bindings(ext.BindingsVersion(0)),
		ext.Encoders(ext.EncodersVersion(1)),
		ext.Lists(ext.ListsVersion(3), ext.ListsMaxRangeSize(maxRange)),
		ext.Math(ext.MathVersion(2)),
		ext.Sets(ext.SetsVersion(0)),
		ext.Strings(ext.StringsVersion(4), ext.StringsMaxPrecision(maxPrecision)),
		ext.TwoVarComprehensions(ext.TwoVarComprehensionsVersion(0)),

		library.CIDR(),
		library.Format(),
		library.IP(),
		library.Lists(library.ListsVersion(1)),
		library.Quantity(),
		library.Regex(),
		library.SemverLib(library.SemverVersion(1)),
		library.URLs(),

		mixedArithmetic(),
		ownLibrary(),
	}
}
