package inspecting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/cmd/kanon/internal/commandline"
	"kanon.dev/kanon/cmd/kanon/internal/exit"
	"kanon.dev/kanon/cmd/kanon/internal/inventory"
	"kanon.dev/kanon/cmd/kanon/internal/terminal"
	"kanon.dev/kanon/cmd/kanon/internal/version"
	"kanon.dev/kanon/live/supportbundle"
	"kanon.dev/kanon/offline/manifests"
)

// supportBundleOptions are the flags of kanon support-bundle.
type supportBundleOptions struct {
	output    string
	metrics   []string
	tokenFile string
	where     inventory.Flags
}

func newSupportBundleCommand() *cobra.Command {
	var o supportBundleOptions
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Write what explains how Kanon fares into one file",
		Long: `Write what somebody needs who helps you with Kanon into one file, a tar archive: versions,
rules and what the compiler finds in them, the parents and children that are not ready,
what Kanon remembers of rules, its Events, metrics and profiles.

No Secret is in it, nor the value of one: all Secrets that you may list are read, and their
values are hidden wherever a rule, a status or an Event has them. Logs are not in it.

What you may not read is left out. contents.txt in the archive says what that is, and so
does the command.

Metrics and profiles are read from the addresses that --metrics names, as by
kubectl -n kanon-system port-forward deployment/kanon 8443. That takes a token that may get
/metrics and /debug/pprof/*.

The exit code is 0 if the file was written, also where something could not be read, 1 if it
could not be, 2 when the command is called wrongly, and 3 when the cluster does not answer.`,
		Example: `  # A file kanon-support-TIME.tar.gz in this directory
  kanon support-bundle

  # With metrics and profiles, while kubectl port-forward runs
  kanon support-bundle -o bundle.tar.gz --metrics https://localhost:8443

  # What would be in it
  kanon support-bundle -o - | tar tz`,
		Args: commandline.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			addresses, err := o.addresses()
			if err != nil {
				return exit.Usagef(cmd, "%w", err)
			}
			return o.write(cmd, addresses)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "file to write, which must not exist; - is standard output; default: kanon-support-TIME.tar.gz")
	flags.StringArrayVar(&o.metrics, "metrics", nil, "address that serves Kanon's metrics, such as https://localhost:8443; repeatable")
	flags.StringVar(&o.tokenFile, "metrics-token-file", "", "file with the token for metrics and profiles; default: the token of the kubeconfig")
	o.where.AddCluster(cmd)
	_ = cmd.MarkFlagFilename("output", "tar.gz")
	_ = cmd.MarkFlagFilename("metrics-token-file")
	commandline.CompleteFlag(cmd, "metrics", func() []cobra.Completion { return []cobra.Completion{"https://localhost:8443"} })
	return cmd
}

// addresses parses --metrics. The error is a usage error.
func (o *supportBundleOptions) addresses() ([]*url.URL, error) {
	if o.tokenFile != "" && len(o.metrics) == 0 {
		return nil, errors.New("--metrics-token-file has no effect without --metrics")
	}
	var addresses []*url.URL
	for _, text := range o.metrics {
		address, err := url.Parse(strings.TrimSuffix(text, "/"))
		if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" || address.Path != "" {
			return nil, fmt.Errorf("--metrics %q is no address such as https://localhost:8443", text)
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}

func (o *supportBundleOptions) write(cmd *cobra.Command, addresses []*url.URL) error {
	token := ""
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return exit.Usagef(cmd, "--metrics-token-file %s: %w", o.tokenFile, manifests.Reason(err))
		}
		token = strings.TrimSpace(string(text))
	}
	ctx := cmd.Context()
	config, err := o.where.Cluster.Reach(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("set up the connection to the cluster: %w", err)
	}
	options := supportbundle.Options{
		Config: rest.AddUserAgent(config, "support-bundle"), Client: client, Namespace: o.where.KanonNamespace, Version: version.String(),
		Metrics: addresses, Token: token, Now: time.Now(),
	}
	notes := cmd.ErrOrStderr()
	if terminal.Is(notes) {
		options.Progress = func(what string) { _ = terminal.Say(notes, "Reading %s\n", what) }
	}
	return o.save(ctx, cmd, options)
}

// save collects the bundle and writes it. It opens the file first, so that nothing is collected if it cannot be
// written.
func (o *supportBundleOptions) save(ctx context.Context, cmd *cobra.Command, options supportbundle.Options) error {
	name := o.output
	if name == "" {
		name = "kanon-support-" + options.Now.UTC().Format("20060102-150405") + ".tar.gz"
	}
	out := cmd.OutOrStdout()
	if name == "-" {
		if terminal.Is(out) {
			return exit.Usagef(cmd, "the archive is not for a terminal: write it to a file or a pipe")
		}
		bundle := supportbundle.Collect(ctx, options)
		return errors.Join(bundle.Write(out), warn(cmd, bundle))
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; name another file with --output", name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, manifests.Reason(err))
	}
	bundle := supportbundle.Collect(ctx, options)
	err = errors.Join(ctx.Err(), bundle.Write(file), file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(name))
	}
	_, err = io.WriteString(out, name+"\n")
	return errors.Join(err, warn(cmd, bundle))
}

// warn prints what the bundle does not contain.
func warn(cmd *cobra.Command, bundle *supportbundle.Bundle) error {
	warnings := bundle.Unread()
	if !bundle.Redacted() {
		warnings = append(warnings, "the values of Secrets are not known, and so not hidden: read the files before you pass them on")
	}
	return terminal.Warn(cmd.ErrOrStderr(), warnings)
}
