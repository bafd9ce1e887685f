package authoring

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/live/listing"
	"kanon.dev/kanon/offline/access"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/program/template"
)

// errMissingRights ends a command whose output has already listed the missing rights.
var errMissingRights = fmt.Errorf("%w: rights are missing", exit.ErrFindings)

// rbacOptions are the flags of kanon rbac.
type rbacOptions struct {
	files          rulefiles.Filenames
	schemas        []string
	name           string
	serviceAccount string
	options        access.Options
	check          bool
	namespace      string
	limits         template.Limits
	cluster        connection.Flags
	// unmade are warnings about the definitions that Kanon could not apply with these rights.
	unmade []string
}

func newRBACCommand() *cobra.Command {
	var o rbacOptions
	cmd := &cobra.Command{
		Use:   "rbac FILE|DIR|-...",
		Short: "Print the roles that rules need",
		Long: `Print the least rights that rules need, as a ClusterRole, Roles in the namespaces that
the rules name, and their bindings to Kanon's ServiceAccount. They come on top of
what Kanon needs itself, which is in deploy/base.

With --check, print nothing but the rights that you lack in a cluster, or the user of
--as, one line for each resource; with --service-account those that it lacks, which takes
the right to ask about others.

The exit code is 0, with --check 1 if a right is missing, 2 when the command is
called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # Grant Kanon what the rules of a directory need
  kanon rbac rules/ --schemas crds/ | kubectl apply -f -

  # Check in CI that a cluster grants Kanon that
  kanon rbac rules/ --schemas crds/ --check --service-account kanon-system/kanon

  # Have I the rights that a dry run of the rules takes?
  kanon rbac rules/ --schemas crds/ --check`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 && !o.files.Given() {
				return exit.Usagef(cmd, "name a file or a directory with rules, or - for standard input")
			}
			return nil
		},
		RunE: o.files.Run(o.rbac),
	}
	flags := cmd.Flags()
	o.files.Add(cmd, "rules")
	flags.StringArrayVar(&o.schemas, "schemas", nil, "directory or file with CustomResourceDefinitions or OpenAPI v3 documents; repeatable")
	flags.StringVar(&o.name, "name", "kanon-rules", "name of the roles and their bindings")
	flags.StringVar(&o.serviceAccount, "service-account", engine.DefaultNamespace+"/kanon", "who gets the rights, or with --check is asked about, as NAMESPACE/NAME")
	flags.BoolVar(&o.options.Definitions, "definitions", false, "add the rights to install CustomResourceDefinitions beside rules")
	flags.BoolVar(&o.options.Finalizers, "finalizers", false, "add what the admission plugin OwnerReferencesPermissionEnforcement wants (OpenShift has it)")
	flags.BoolVar(&o.check, "check", false, "ask the cluster which rights are missing: yours, without --service-account")
	rulefiles.AddKanonNamespace(flags, &o.namespace, "in which rules belong")
	o.cluster.Add(flags, connection.Group+" (with --check)")
	o.cluster.AddTimeout(flags, connection.Group+" (with --check)")
	rulefiles.AddLimits(flags, &o.limits)
	o.cluster.Complete(cmd)
	return cmd
}

func (o *rbacOptions) rbac(cmd *cobra.Command, args []string) error {
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	namespace, name, ok := strings.Cut(o.serviceAccount, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return exit.Usagef(cmd, "--service-account %q is not NAMESPACE/NAME", o.serviceAccount)
	}
	if !o.check {
		if err := connection.RefuseUnused(cmd, "check"); err != nil {
			return err
		}
	}
	account := types.NamespacedName{Namespace: namespace, Name: name}
	rights, err := o.rights(cmd, args)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if !o.check {
		if _, err := fmt.Fprint(out, rights.Roles(access.Subject{Role: o.name, ServiceAccount: account})); err != nil {
			return err
		}
		return terminal.Warn(cmd.ErrOrStderr(), o.unmade)
	}
	if err := terminal.Warn(cmd.ErrOrStderr(), o.unmade); err != nil {
		return err
	}
	user := "" // the caller
	if cmd.Flags().Changed("service-account") {
		user = "system:serviceaccount:" + account.Namespace + ":" + account.Name
	}
	missing, err := o.missing(cmd, rights, user)
	if err != nil {
		return err
	}
	if len(missing) == 0 {
		return nil
	}
	printer := listing.Printer{Out: out}
	if err := printer.Print(listed(missing)); err != nil {
		return err
	}
	return errMissingRights
}

// listed is a table of rights, like that of kubectl auth can-i --list.
func listed(rights []access.Right) listing.List {
	list := listing.List{Columns: listing.Columns("RESOURCES", "RESOURCE NAMES", "NAMESPACE", "VERBS", "NEEDED FOR")}
	for _, right := range rights {
		namespace := right.Namespace
		if namespace == "" {
			namespace = "<all>"
		}
		list.Add(right.FullResource(), right, right.FullResource(), bracketed(right.Names), namespace, bracketed(right.Verbs), right.Purpose())
	}
	return list
}

// bracketed is a list in the notation of kubectl auth can-i --list.
func bracketed(words []string) string { return "[" + strings.Join(words, " ") + "]" }

// rights are the rights that the rules in files need.
func (o *rbacOptions) rights(cmd *cobra.Command, args []string) (*access.Rights, error) {
	checked, kinds, err := rulefiles.Read(cmd, args, o.schemas, rules.Options{Namespace: o.namespace, Limits: o.limits})
	if err != nil {
		return nil, err
	}
	rights := &access.Rights{}
	for i, program := range checked.Programs {
		if err := rights.Add(checked.Decoded[i], program, kinds, o.options); err != nil {
			return nil, err
		}
		if crd := checked.Decoded[i].Parent.Definition; crd != nil && !o.options.Definitions {
			o.unmade = append(o.unmade, fmt.Sprintf(
				"the right to apply CustomResourceDefinition %s is not among these, which rule %s makes: add --definitions, or apply what kanon crd prints", crd.GetName(), program.Name))
		}
	}
	return rights, nil
}

func (o *rbacOptions) missing(cmd *cobra.Command, rights *access.Rights, user string) ([]access.Right, error) {
	config, err := o.cluster.Reach(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	client, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	missing, err := access.Missing(cmd.Context(), client, rights, user)
	if err != nil {
		return nil, exit.OfCluster(config.Host, err)
	}
	return missing, nil
}
