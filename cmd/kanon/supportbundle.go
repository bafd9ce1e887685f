package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"

	"kanon.dev/kanon/author/live"
	"kanon.dev/kanon/author/manifests"
	"kanon.dev/kanon/cmd/kanon/internal/cli"
)

// supportBundleOptions are the flags of kanon support-bundle.
type supportBundleOptions struct {
	output    string
	metrics   []string
	tokenFile string
	where     cli.LiveFlags
}

func newSupportBundleCommand() *cobra.Command {
	var o supportBundleOptions
	cmd := &cobra.Command{
		Use:   "support-bundle",
		Short: "Write what explains how Kanon fares into one file",
		Args:  cli.NoArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return o.write(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.output, "output", "o", "", "file to write, which must not exist; - is standard output; default: kanon-support-TIME.tar.gz")
	flags.StringArrayVar(&o.metrics, "metrics", nil, "address that serves Kanon's metrics, such as https://localhost:8443; repeatable")
	flags.StringVar(&o.tokenFile, "metrics-token-file", "", "file with the token for metrics and profiles; default: the token of the kubeconfig")
	o.where.AddCluster(cmd)
	_ = cmd.MarkFlagFilename("output", "tar.gz")
	_ = cmd.MarkFlagFilename("metrics-token-file")
	cli.CompleteFlag(cmd, "metrics", func() []cobra.Completion { return []cobra.Completion{"https://localhost:8443"} })
	return cmd
}

func (o *supportBundleOptions) write(cmd *cobra.Command) error {
	if o.tokenFile != "" && len(o.metrics) == 0 {
		return cli.Usagef(cmd, "--metrics-token-file has no effect without --metrics")
	}
	var addresses []*url.URL
	for _, text := range o.metrics {
		address, err := url.Parse(strings.TrimSuffix(text, "/"))
		if err != nil || address.Scheme != "https" && address.Scheme != "http" || address.Host == "" || address.Path != "" {
			return cli.Usagef(cmd, "--metrics %q is no address such as https://localhost:8443", text)
		}
		addresses = append(addresses, address)
	}
	token := ""
	if o.tokenFile != "" {
		text, err := os.ReadFile(o.tokenFile)
		if err != nil {
			return cli.Usagef(cmd, "--metrics-token-file %s: %w", o.tokenFile, manifests.Reason(err))
		}
		token = strings.TrimSpace(string(text))
	}
	there, err := o.where.Open(cmd)
	if err != nil {
		return err
	}
	options := live.BundleOptions{
		Config: rest.AddUserAgent(there.Config, "support-bundle"), Client: there.Client, Namespace: o.where.KanonNamespace, Version: cli.Version(),
		Metrics: addresses, Token: token, Now: time.Now(),
	}
	notes := cmd.ErrOrStderr()
	if cli.IsTerminal(notes) {
		options.Progress = func(what string) { _ = cli.Say(notes, "Reading %s\n", what) }
	}
	return o.save(cmd, options)
}

// save collects the bundle and writes it. It opens the file first, so that nothing is collected if it cannot be
// written.
func (o *supportBundleOptions) save(cmd *cobra.Command, options live.BundleOptions) error {
	ctx := cmd.Context()
	name := o.output
	if name == "" {
		name = "kanon-support-" + options.Now.UTC().Format("20060102-150405") + ".tar.gz"
	}
	out := cmd.OutOrStdout()
	if name == "-" {
		if cli.IsTerminal(out) {
			return cli.Usagef(cmd, "the archive is not for a terminal: write it to a file or a pipe")
		}
		bundle := live.CollectBundle(ctx, options)
		return errors.Join(bundle.Write(out), warn(cmd, bundle))
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists; name another file with --output", name)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, manifests.Reason(err))
	}
	bundle := live.CollectBundle(ctx, options)
	err = errors.Join(ctx.Err(), bundle.Write(file), file.Close())
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(name))
	}
	_, err = io.WriteString(out, name+"\n")
	return errors.Join(err, warn(cmd, bundle))
}

// warn prints what the bundle does not contain.
func warn(cmd *cobra.Command, bundle *live.Bundle) error {
	warnings := bundle.Unread()
	if !bundle.Redacted() {
		warnings = append(warnings, "the values of Secrets are not known, and so not hidden: read the files before you pass them on")
	}
	return cli.Warn(cmd.ErrOrStderr(), warnings)
}
