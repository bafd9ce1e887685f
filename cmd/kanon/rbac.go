package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
	"kanon.dev/kanon/engine"
)

// errMissingRights ends a command whose output has already listed the missing rights.
var errMissingRights = fmt.Errorf("%w: rights are missing", cli.ErrFindings)

// rbacOptions are the flags of kanon rbac.
type rbacOptions struct {
	rules          cli.RuleFlags
	name           string
	serviceAccount string
	options        manifests.RightsOptions
	check          bool
	cluster        cli.ClusterFlags
	// unmade are warnings about the definitions that Kanon could not apply with these rights.
	unmade []string
}

func newRBACCommand() *cobra.Command {
	var o rbacOptions
	cmd := &cobra.Command{
		Use:   "rbac FILE|DIR|-...",
		Short: "Print the roles that rules need",
		Args:  o.rules.Need,
		RunE:  o.rules.Run(o.rbac),
	}
	flags := cmd.Flags()
	o.rules.Add(cmd)
	flags.StringVar(&o.name, "name", "kanon-rules", "name of the roles and their bindings")
	flags.StringVar(&o.serviceAccount, "service-account", engine.DefaultNamespace+"/kanon", "who gets the rights, or with --check is asked about, as NAMESPACE/NAME")
	flags.BoolVar(&o.options.Definitions, "definitions", false, "add the rights to install CustomResourceDefinitions beside rules")
	flags.BoolVar(&o.options.Finalizers, "finalizers", false, "add what the admission plugin OwnerReferencesPermissionEnforcement wants (OpenShift has it)")
	flags.BoolVar(&o.check, "check", false, "ask the cluster which rights are missing: yours, without --service-account")
	o.cluster.AddForAnswers(cmd, cli.ClusterGroup+" (with --check)")
	return cmd
}

func (o *rbacOptions) rbac(cmd *cobra.Command, args []string) error {
	namespace, name, ok := strings.Cut(o.serviceAccount, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return cli.Usagef(cmd, "--service-account %q is not NAMESPACE/NAME", o.serviceAccount)
	}
	if !o.check {
		if err := cli.RefuseUnused(cmd, "check"); err != nil {
			return err
		}
	}
	rights, err := o.rights(cmd, args)
	if err != nil {
		return err
	}
	if err := cli.Warn(cmd.ErrOrStderr(), o.unmade); err != nil {
		return err
	}
	if !o.check {
		account := types.NamespacedName{Namespace: namespace, Name: name}
		return cli.Say(cmd.OutOrStdout(), "%s", rights.Roles(manifests.Subject{Role: o.name, ServiceAccount: account}))
	}
	user := "" // the caller
	if cmd.Flags().Changed("service-account") {
		user = "system:serviceaccount:" + namespace + ":" + name
	}
	missing, err := o.missing(cmd, rights, user)
	if err != nil || len(missing) == 0 {
		return err
	}
	return errors.Join((&live.Printer{Out: cmd.OutOrStdout()}).Print(listed(missing)), errMissingRights)
}

// listed is a table of rights, like that of kubectl auth can-i --list.
func listed(rights []manifests.Right) live.List {
	list := live.List{Columns: live.Columns("RESOURCES", "RESOURCE NAMES", "NAMESPACE", "VERBS", "NEEDED FOR")}
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
func (o *rbacOptions) rights(cmd *cobra.Command, args []string) (*manifests.Rights, error) {
	checked, kinds, err := o.rules.Read(cmd, args)
	if err != nil {
		return nil, err
	}
	rights := &manifests.Rights{}
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

func (o *rbacOptions) missing(cmd *cobra.Command, rights *manifests.Rights, user string) ([]manifests.Right, error) {
	config, err := o.cluster.Reach(cmd)
	if err != nil {
		return nil, err
	}
	client, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	return manifests.MissingRights(cmd.Context(), client, rights, user)
}
