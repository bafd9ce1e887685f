package rulefiles

import (
	"github.com/spf13/pflag"

	"kanon.dev/kanon/engine"
)

// AddKanonNamespace declares the flag for Kanon's own namespace. Its former name, which kubectl uses for the namespace
// of objects, is accepted with a warning.
func AddKanonNamespace(flags *pflag.FlagSet, namespace *string, what string) {
	const name = "kanon-namespace"
	flags.StringVar(namespace, name, engine.DefaultNamespace, "Kanon's own namespace, "+what)
	flags.StringVar(namespace, "namespace", engine.DefaultNamespace, "see --"+name)
	flags.Lookup("namespace").Deprecated = "use --" + name
	flags.Lookup("namespace").Hidden = true
}
