package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	cyclonedx "github.com/CycloneDX/cyclonedx-go"
	"sigs.k8s.io/yaml"
)

// nameOf is the prefix of the names of a platform's files.
func (r *release) nameOf(p platform) string { return "kanon_" + r.version + "_" + p.String() }

// archiveOf is the name of a platform's archive.
func (r *release) archiveOf(p platform) string {
	if p.system == "windows" {
		return r.nameOf(p) + ".zip"
	}
	return r.nameOf(p) + ".tar.gz"
}

// archive packs a program and the license.
func (r *release) archive(p platform, program string) error {
	var packed bytes.Buffer
	pack := packTar
	if p.system == "windows" {
		pack = packZip
	}
	var files []file
	for _, path := range []string{program, filepath.Join(r.root, "LICENSE")} {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files = append(files, file{filepath.Base(path), data})
	}
	if err := pack(&packed, files, r.made); err != nil {
		return fmt.Errorf("pack %s: %w", program, err)
	}
	return r.write(r.archiveOf(p), packed.Bytes())
}

type file struct {
	name string
	data []byte
}

// mode is the mode of every file: all are for everybody, and programs must be executable.
const mode = 0o755

func packTar(out *bytes.Buffer, files []file, made time.Time) error {
	compressed := gzip.NewWriter(out)
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		if err := archive.WriteHeader(&tar.Header{Name: f.name, Mode: mode, Size: int64(len(f.data)), ModTime: made}); err != nil {
			return err
		}
		if _, err := archive.Write(f.data); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func packZip(out *bytes.Buffer, files []file, made time.Time) error {
	archive := zip.NewWriter(out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: made}
		header.SetMode(mode)
		w, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := w.Write(f.data); err != nil {
			return err
		}
	}
	return archive.Close()
}

// describe writes the modules of a program, as the Go toolchain recorded them in it.
func (r *release) describe(p platform, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", program, err)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{
		Timestamp: r.made.Format(time.RFC3339),
		Component: &cyclonedx.Component{
			Type: cyclonedx.ComponentTypeApplication, Name: info.Main.Path, Version: r.version,
			PackageURL: "pkg:golang/" + info.Main.Path + "@" + r.version,
		},
	}
	components := []cyclonedx.Component{{Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		components = append(components, cyclonedx.Component{
			BOMRef: module.Path + "@" + module.Version,
			Type:   cyclonedx.ComponentTypeLibrary, Name: module.Path, Version: module.Version,
			PackageURL: "pkg:golang/" + module.Path + "@" + module.Version,
		})
	}
	bom.Components = &components
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return fmt.Errorf("write the modules of %s: %w", program, err)
	}
	return r.write(r.nameOf(p)+".cdx.json", text.Bytes())
}

func (r *release) packageChart(ctx context.Context) error {
	_, err := r.run(ctx, filepath.Join(r.root, "tools"), nil, "go", "tool", "helm", "package", filepath.Join(r.root, "deploy", "chart"),
		"--version", strings.TrimPrefix(r.version, "v"), "--app-version", r.version, "--destination", r.out)
	return err
}

// writeInstall writes install.yaml with the image of the release.
func (r *release) writeInstall() error {
	const bare = "image: kanon\n"
	text, err := os.ReadFile(filepath.Join(r.root, "deploy", "install.yaml"))
	if err != nil {
		return err
	}
	if strings.Count(string(text), bare) != 1 {
		return fmt.Errorf("deploy/install.yaml does not have one line %q", strings.TrimSpace(bare))
	}
	return r.write("install.yaml", []byte(strings.Replace(string(text), bare, "image: "+r.image+":"+r.version+"\n", 1)))
}

// writeKrew writes the manifest for krew, which installs kubectl kanon.
func (r *release) writeKrew() error {
	var platforms []any
	for _, p := range r.platforms {
		name, program := r.archiveOf(p), "kanon"
		if p.system == "windows" {
			program += ".exe"
		}
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		platforms = append(platforms, map[string]any{
			"selector": map[string]any{"matchLabels": map[string]any{"os": p.system, "arch": p.architecture}},
			"uri":      r.downloads + "/" + name, "sha256": checksum(data), "bin": program,
		})
	}
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "krew.googlecontainertools.github.com/v1alpha2", "kind": "Plugin",
		"metadata": map[string]any{"name": "kanon"},
		"spec": map[string]any{
			"version": r.version, "platforms": platforms,
			"shortDescription": "Write, check and follow rules of Kanon",
			"description":      "Kanon turns rules written in YAML into running Kubernetes operators.\nThis is its command line: kubectl kanon --help lists what it does.\n",
		},
	})
	if err != nil {
		return err
	}
	return r.write("kanon.yaml", text)
}

// writeChecksums writes the checksums of all files, in the format of sha256sum.
func (r *release) writeChecksums() error {
	var lines []string
	err := filepath.WalkDir(r.out, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(r.out, path)
		lines = append(lines, checksum(data)+"  "+filepath.ToSlash(name)+"\n")
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(lines)
	return r.write("checksums.txt", []byte(strings.Join(lines, "")))
}

func checksum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (r *release) write(name string, data []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644) //nolint:gosec // for everybody to read
}
