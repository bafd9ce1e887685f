package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// release is a release to be made.
type release struct {
	// version begins with v.
	version string
	// image is the repository of the image, and downloads the URL of the directory that will have the files.
	image, downloads string
	platforms        []platform
	// root is the repository, and out the directory for the files.
	root, out string
	// made is the time of all files: that of the commit.
	made time.Time
	// log logs progress.
	log func(format string, args ...any)
}

// platform is a platform of Go.
type platform struct{ system, architecture string }

func (p platform) String() string { return p.system + "_" + p.architecture }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := parse(os.Args[1:])
	if err == nil {
		err = r.make(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1) //nolint:gocritic // stop has nothing left to do
	}
}

func parse(args []string) (*release, error) {
	r := &release{log: func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }}
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.StringVar(&r.version, "version", "", "version, such as v0.1.0")
	flags.StringVar(&r.image, "image", "kanon", "repository of the image, such as registry.example.com/kanon")
	flags.StringVar(&r.downloads, "downloads", "https://example.com/kanon/VERSION", "address of the files, for krew; VERSION is replaced")
	flags.StringVar(&r.root, "root", "..", "root of the repository")
	flags.StringVar(&r.out, "out", "../dist", "directory for what is made; it must not exist")
	names := flags.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "platforms")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(r.version) {
		return nil, fmt.Errorf("--version must be such as v0.1.0, not %q", r.version)
	}
	for name := range strings.SplitSeq(*names, ",") {
		system, architecture, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("--platforms: %q is not such as linux/amd64", name)
		}
		r.platforms = append(r.platforms, platform{system, architecture})
	}
	r.downloads = strings.ReplaceAll(r.downloads, "VERSION", r.version)
	var err1, err2 error
	r.root, err1 = filepath.Abs(r.root)
	r.out, err2 = filepath.Abs(r.out)
	return r, errors.Join(err1, err2)
}

// make makes all files.
func (r *release) make(ctx context.Context) error {
	if err := os.Mkdir(r.out, 0o755); err != nil {
		return fmt.Errorf("%w: name another directory with --out, or remove it", err)
	}
	seconds, err := r.run(ctx, r.root, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return fmt.Errorf("read the time of the commit: %w", err)
	}
	r.made = time.Unix(unix, 0).UTC()
	build, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(build) }()
	programs := make(map[platform]string)
	for _, p := range r.platforms {
		r.log("building for %s", p)
		if programs[p], err = r.build(ctx, build, p); err != nil {
			return err
		}
		if err := errors.Join(r.archive(p, programs[p]), r.describe(p, programs[p])); err != nil {
			return err
		}
	}
	r.log("making the image, the chart and the manifests")
	return errors.Join(r.makeImage(programs), r.packageChart(ctx), r.writeInstall(), r.writeKrew(), r.writeChecksums())
}

// build builds the program as the Dockerfile does.
func (r *release) build(ctx context.Context, dir string, p platform) (path string, err error) {
	path = filepath.Join(dir, p.String(), "kanon")
	if p.system == "windows" {
		path += ".exe"
	}
	_, err = r.run(ctx, r.root, []string{"CGO_ENABLED=0", "GOOS=" + p.system, "GOARCH=" + p.architecture},
		"go", "build", "-trimpath", "-ldflags=-s -w -X kanon.dev/kanon/cmd/kanon/internal/version.release="+r.version, "-o", path, "./cmd/kanon")
	return path, err
}

// run runs a command, and returns its output.
func (r *release) run(ctx context.Context, dir string, environment []string, name string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env = dir, append(os.Environ(), environment...)
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(output)), nil
}
