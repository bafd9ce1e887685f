package inspecting

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/connection"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/rulefiles"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/engine"
	"kanon.dev/kanon/live/inquiry"
	"kanon.dev/kanon/live/ruleset"
	"kanon.dev/kanon/offline/manifests"
	"kanon.dev/kanon/offline/provenance"
	"kanon.dev/kanon/rules"
	"kanon.dev/kanon/rules/ignore"
	"kanon.dev/kanon/rules/program/template"
)

// whyOptions are the flags of kanon why.
type whyOptions struct {
	namespace string
	files     rulefiles.Filenames
	output    string
	// kanonNamespace is Kanon's own namespace.
	kanonNamespace string
	limits         template.Limits
	cluster        connection.Flags
}

func newWhyCommand() *cobra.Command {
	var o whyOptions
	cmd := &cobra.Command{
		Use:   "why KIND NAME [FIELD]",
		Short: "Show which line of a rule gave a field of an object its value",
		Long: `Show why the fields of an object in a cluster have their values: which line of which
rule gave them, and which field manager has written them last. The object can be a child,
a parent, an object that a patch changes, or one that no rule knows.

Without FIELD, the object is printed as YAML, and each line has its source before it, like
in git blame. With FIELD, the expression is shown with what it has read: each input with
its value now and the object that it comes from, also through variables, forEach and
lookups; then who owns the field, and what Kanon does about it.

FIELD is a path as in a rule's ignore: spec.replicas,
spec.template.spec.containers[name=web].image, or metadata.annotations[a.b/c].

The rule is evaluated with the objects that the cluster has now. An AGE is that of the last
change by the manager to any of its fields: Kubernetes records no time for each one. Rules
are read from the cluster, and from -f those that are in files. Values of Secrets are not
shown, and neither is what is computed from them.

The exit code is 0, 1 if there is no such object or field, 2 when the command is called
wrongly, and 3 when the cluster does not answer.`,
		Example: `  # Every line of a Deployment with its source
  kanon why deployment storefront -n shop

  # Which expression, with which inputs, gave the number of replicas
  kanon why deployment storefront spec.replicas

  # Who writes the status of a parent, by a rule that only a file has
  kanon why webapp/storefront status.url -f rule.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			_, rest, err := connection.ParseObject(cmd, args)
			switch {
			case err != nil:
				return err
			case len(rest) > 1:
				return exit.Usagef(cmd, "unexpected argument %q: a field is one path, such as spec.replicas", rest[1])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.why(cmd, args) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.namespace, "namespace", "n", "", "namespace of the object; default: that of the kubeconfig")
	o.files.Add(cmd, "rules, in the place of installed ones of the same name")
	flags.StringVarP(&o.output, "output", "o", whyFormats()[0], strings.Join(whyFormats(), ", "))
	flags.StringVar(&o.kanonNamespace, "kanon-namespace", engine.DefaultNamespace, "Kanon's own namespace")
	o.cluster.Add(flags, connection.Group)
	o.cluster.AddTimeout(flags, connection.Group)
	rulefiles.AddLimits(flags, &o.limits)
	o.cluster.Complete(cmd)
	commandline.CompleteFlag(cmd, "output", whyFormats)
	cmd.ValidArgsFunction = o.complete
	return cmd
}

// complete completes KIND and NAME, and then the fields of the object.
func (o *whyOptions) complete(cmd *cobra.Command, args []string, begin string) ([]cobra.Completion, cobra.ShellCompDirective) {
	arg, rest, err := connection.ParseObject(cmd, args)
	if err != nil {
		return connection.CompleteObject(&o.cluster, &o.namespace)(cmd, args, begin)
	}
	config, err := o.cluster.Config()
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	config.Timeout = connection.CompletionLimit
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	live, err := arg.Read(cmd.Context(), &o.cluster, config, client, o.namespace)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp // the command will report the error
	}
	return provenance.Explain(live, nil).Paths(), cobra.ShellCompDirectiveNoFileComp
}

// whyFormats are the values of --output. The first is the default.
func whyFormats() []cobra.Completion { return []cobra.Completion{"text", "json", "yaml"} }

func (o *whyOptions) why(cmd *cobra.Command, args []string) error {
	if err := rulefiles.CheckLimits(o.limits); err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	if !slices.Contains(whyFormats(), o.output) {
		return exit.Usagef(cmd, "--output %q is none of %s", o.output, strings.Join(whyFormats(), ", "))
	}
	object, rest, err := connection.ParseObject(cmd, args)
	if err != nil {
		return err
	}
	var field ignore.Path
	if len(rest) == 1 {
		if field, err = parseField(cmd, rest[0]); err != nil {
			return err
		}
	}
	names, err := o.files.After(cmd, nil)
	if err != nil {
		return err
	}
	files, err := manifests.Read(names, cmd.InOrStdin())
	if err != nil {
		return exit.Usagef(cmd, "%w", err)
	}
	config, err := o.cluster.Reach(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	done := terminal.SayIfSlow(cmd.ErrOrStderr(), "Asking "+config.Host+"…")
	explanation, err := o.explain(cmd, config, object, files)
	done()
	if err != nil {
		return exit.OfCluster(config.Host, err)
	}
	if field != nil {
		part, ok := explanation.Below(field)
		if !ok {
			return fmt.Errorf("%[1]s %[2]s has no field %[3]s, and no rule renders one; 'kanon why %[1]s %[2]s' lists its fields", explanation.Object.Kind, explanation.Object.Name, field)
		}
		explanation = part
	}
	return o.write(cmd, explanation, field != nil)
}

// parseField parses a path in the syntax of rules.
func parseField(cmd *cobra.Command, text string) (ignore.Path, error) {
	if text == "" {
		return nil, exit.Usagef(cmd, "the field is empty: write a path, such as spec.replicas")
	}
	parsed, wrong := ignore.Parse(text)
	switch {
	case wrong != nil && wrong.Hint != "":
		return nil, exit.Usagef(cmd, "field %q: %s (%s)", text, wrong.Message, wrong.Hint)
	case wrong != nil:
		return nil, exit.Usagef(cmd, "field %q: %s", text, wrong.Message)
	}
	return parsed.Steps, nil
}

// explain explains an object of the cluster.
func (o *whyOptions) explain(cmd *cobra.Command, config *rest.Config, arg connection.Object, files []manifests.File) (*provenance.Explanation, error) {
	ctx := cmd.Context()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	live, err := arg.Read(ctx, &o.cluster, config, client, o.namespace)
	if err != nil {
		return nil, err
	}
	kinds, err := manifests.ClusterKinds(ctx, config)
	if err != nil {
		return nil, err
	}
	known := ruleset.New(ruleset.Options{Client: client, Kinds: kinds, Namespace: o.kanonNamespace, Limits: o.limits})
	if err := known.Refresh(ctx); err != nil && (!apierrors.IsForbidden(err) || len(files) == 0) { // with -f, the right to read rules is not needed
		return nil, fmt.Errorf("read the rules in namespace %s (or give them with -f): %w", o.kanonNamespace, err)
	}
	if len(files) > 0 {
		checked, err := rulefiles.Check(cmd, strings.Join(o.files.Names(), ", "), files, nil, kinds, rules.Options{Namespace: o.kanonNamespace, Limits: o.limits})
		if err != nil {
			return nil, err
		}
		known.AddFiles(checked)
	}
	return inquiry.New(inquiry.Options{Client: client, Kinds: kinds, Rules: known, Namespace: o.kanonNamespace, Now: time.Now()}).Explain(ctx, live)
}

func (o *whyOptions) write(cmd *cobra.Command, e *provenance.Explanation, detail bool) error {
	out := cmd.OutOrStdout()
	switch o.output {
	case "json":
		return e.WriteJSON(out)
	case "yaml":
		return e.WriteYAML(out)
	}
	return provenance.Printer{Now: time.Now(), Color: terminal.HasColors(out)}.Print(out, e, detail)
}
