package cli

import "runtime/debug"

// release is the version that the linker sets (-X kanon.dev/kanon/cmd/kanon/internal/cli.release=v0.1.0), for
// example in the Dockerfile. It is empty in other builds.
//
//nolint:gochecknoglobals // The linker sets it.
var release string

// Version is the release. Without one, it is the module's version, which the Go toolchain makes of the commit.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case release != "":
		return release
	case !ok:
		return "unknown"
	case info.Main.Version == "" || info.Main.Version == "(devel)":
		return "devel"
	default:
		return info.Main.Version
	}
}
