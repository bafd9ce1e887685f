package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
)

// Options configure `up`. The zero value, with a Kubeconfig, runs the default controllers and no node.
type Options struct {
	// Kubeconfig is the file to write the administrator's kubeconfig to.
	Kubeconfig string
	// Dir has data, logs and keys. Empty: a temporary directory, removed at the end. A control plane continues from the
	// data of an existing directory.
	Dir string
	// AuditLog is the file that records every request as a JSON line. Empty: requests are not recorded.
	AuditLog string
	// APIArgs are further arguments of kube-apiserver. They take precedence.
	APIArgs []string
	// Controllers are the names of the controllers to run. Empty: the default ones.
	Controllers []string
	// Nodes is the number of fake Nodes. 0: no node, no scheduler, no kwok.
	Nodes int
	// StartTimeout bounds the time until a component is ready. 0: two minutes, for slow and busy machines.
	StartTimeout time.Duration
}

const defaultStartTimeout = 2 * time.Minute

// addFlags binds the options to command-line flags.
func (o *Options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Kubeconfig, "kubeconfig", "", "write the administrator's kubeconfig to this file (required)")
	flags.StringVar(&o.Dir, "dir", "", "keep data, logs and keys in this directory (default: a temporary one, removed at the end)")
	flags.StringVar(&o.AuditLog, "audit-log", "", "record every API request in this file, as JSON lines")
	flags.StringArrayVar(&o.APIArgs, "api-arg", nil, "further argument of kube-apiserver, for example --v=4; may be repeated")
	flags.StringSliceVar(&o.Controllers, "controllers", nil,
		"controllers to run, for example garbage-collector,namespace (default: what namespaces, workloads and Services need)")
	flags.IntVar(&o.Nodes, "nodes", 1, "number of fake nodes; 0 runs neither scheduler nor kwok")
	flags.DurationVar(&o.StartTimeout, "start-timeout", defaultStartTimeout, "how long one component may take to get ready")
}

// complete checks the options and sets the defaults.
func (o Options) complete() (Options, error) {
	if o.Kubeconfig == "" {
		return o, errors.New("--kubeconfig is required")
	}
	if err := checkKubeconfigPath(o.Kubeconfig); err != nil {
		return o, err
	}
	if o.Nodes < 0 {
		return o, fmt.Errorf("--nodes must not be negative, is %d", o.Nodes)
	}
	if o.StartTimeout < 0 {
		return o, fmt.Errorf("--start-timeout must not be negative, is %s", o.StartTimeout)
	}
	if o.StartTimeout == 0 {
		o.StartTimeout = defaultStartTimeout
	}
	var err error
	if o.Controllers, err = resolveControllers(o.Controllers); err != nil {
		return o, err
	}
	if o.AuditLog != "" {
		if o.AuditLog, err = filepath.Abs(o.AuditLog); err != nil {
			return o, fmt.Errorf("find audit log: %w", err)
		}
	}
	return o, nil
}
