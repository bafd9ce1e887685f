# The version of Kubernetes that the control plane is built from, and reports.
KUBERNETES_VERSION := $(shell sed -n 's,^[[:space:]]*k8s.io/kubernetes \(v[0-9.]*\)$$,\1,p' cmd/controlplane/go.mod)
KUBERNETES_MAJOR := $(word 1,$(subst ., ,$(KUBERNETES_VERSION:v%=%)))
KUBERNETES_MINOR := $(word 2,$(subst ., ,$(KUBERNETES_VERSION:v%=%)))
CONTROLPLANE_LDFLAGS := -s -w $(foreach package,k8s.io/component-base/version k8s.io/client-go/pkg/version,\
	-X $(package).gitVersion=$(KUBERNETES_VERSION) \
	-X $(package).gitMajor=$(KUBERNETES_MAJOR) \
	-X $(package).gitMinor=$(KUBERNETES_MINOR) \
	-X $(package).gitCommit=$(KUBERNETES_VERSION) \
	-X $(package).gitTreeState=clean)

# Phony: go's own cache knows what has changed. Without VCS stamping a commit
# elsewhere does not link the binary anew.
.PHONY: bin/controlplane
bin/controlplane:
	@mkdir -p bin
	go build -C cmd/controlplane -trimpath -buildvcs=false -ldflags '$(CONTROLPLANE_LDFLAGS)' -o ../../bin/controlplane .
