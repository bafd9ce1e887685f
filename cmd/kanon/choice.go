package main

import "strconv"

// clusterChoice is the flag --cluster of a command that can do without a cluster. Alone it asks the cluster of the context. With
// a name it is kubectl's flag: it asks that cluster of the kubeconfig.
type clusterChoice struct {
	asked *bool
	name  *string
}

// Set implements pflag.Value.
func (c clusterChoice) Set(value string) error {
	*c.asked, *c.name = true, value
	if asked, err := strconv.ParseBool(value); err == nil {
		*c.asked, *c.name = asked, ""
	}
	return nil
}

// String implements pflag.Value.
func (c clusterChoice) String() string {
	switch {
	case c.asked == nil || !*c.asked:
		return "false"
	case *c.name == "":
		return "true"
	default:
		return *c.name
	}
}

// Type implements pflag.Value. A bool needs no value.
func (c clusterChoice) Type() string { return "bool" }
