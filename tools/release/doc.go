// Command release makes all files of a release of Kanon in a directory. It publishes nothing:
//
//	go run -C tools ./release --version v0.1.0 --out ../dist --platforms linux/amd64,linux/arm64,darwin/arm64,windows/amd64
//
//	dist/kanon_v0.1.0_linux_amd64.tar.gz          the program and the license, for each platform; a zip file for Windows
//	dist/kanon_v0.1.0_linux_amd64.cdx.json        which modules are in it (CycloneDX)
//	dist/image/                                   an image for each platform of Linux, as an OCI layout
//	dist/kanon-0.1.0.tgz                          the Helm chart
//	dist/install.yaml                             deploy/install.yaml with the image of the release
//	dist/kanon.yaml                               the manifest of kubectl's plugin manager krew
//	dist/checksums.txt                            of all files, for sha256sum --check
//
// The same commit gives the same bytes: times are those of the commit. The image needs no container daemon, because it
// is one file and the configuration of the Dockerfile.
package main
