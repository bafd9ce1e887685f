package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is that of the Dockerfile.
const user = "65532:65532"

// makeImage writes an image index with an image for each Linux platform, as a layout that crane, skopeo and oras can
// push.
func (r *release) makeImage(programs map[platform]string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range r.platforms {
		if p.system != "linux" {
			continue
		}
		image, err := r.imageOf(p, programs[p])
		if err != nil {
			return fmt.Errorf("make the image for %s: %w", p, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			MediaType: types.OCIManifestSchema1, Platform: &v1.Platform{OS: p.system, Architecture: p.architecture},
		}})
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) == 0 {
		return err // other systems have no image
	}
	dir := filepath.Join(r.out, "image")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	name := map[string]string{"org.opencontainers.image.ref.name": r.version}
	if err := path.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return fmt.Errorf("write the image: %w", err)
	}
	return nil
}

// imageOf makes the image of the Dockerfile: one program, run by a user that owns nothing.
func (r *release) imageOf(p platform, program string) (v1.Image, error) {
	data, err := os.ReadFile(program)
	if err != nil {
		return nil, err
	}
	var content bytes.Buffer
	if err := packTar(&content, []file{{"kanon", data}}, r.made); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.AppendLayers(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = p.system, p.architecture, v1.Time{Time: r.made}
	config.Config = v1.Config{
		User: user, Entrypoint: []string{"/kanon"}, Cmd: []string{"run"},
		Labels: map[string]string{"org.opencontainers.image.title": "kanon", "org.opencontainers.image.version": r.version},
	}
	return mutate.ConfigFile(image, config)
}
