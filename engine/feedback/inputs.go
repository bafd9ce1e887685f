package feedback

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"kanon.dev/kanon/engine/identity"
)

// Inputs collects what an evaluation sees, besides the parent. Methods of nil do nothing.
type Inputs struct {
	// lookups has what was looked up, and the versions that were found.
	lookups []string
	// children are the versions of children as they were found; zero for one that does not exist.
	children map[identity.ID]Version
}

// NewInputs returns Inputs without any.
func NewInputs() *Inputs { return &Inputs{children: make(map[identity.ID]Version)} }

// Lookup takes in what a lookup found. Of the parent itself, the version changes with its status, so it does not count.
func (in *Inputs) Lookup(subject any, found []*unstructured.Unstructured, err error, parent types.UID) {
	if in == nil {
		return
	}
	versions := make([]string, len(found))
	for i, obj := range found {
		if versions[i] = fmt.Sprint(VersionOf(obj)); obj.GetUID() == parent {
			versions[i] = "the parent"
		}
	}
	slices.Sort(versions)
	in.lookups = append(in.lookups, fmt.Sprintf("%v %v %q", subject, err, versions))
}

// Child takes in a child as it is in memory before it is written; nil where it does not exist.
func (in *Inputs) Child(id identity.ID, child *unstructured.Unstructured) {
	if in == nil {
		return
	}
	if _, known := in.children[id]; !known {
		in.children[id] = VersionOf(child)
	}
}

// VersionOf is the version of an object; zero for none.
func VersionOf(obj *unstructured.Unstructured) Version {
	if obj == nil {
		return Version{}
	}
	return Version{UID: obj.GetUID(), Resource: obj.GetResourceVersion()}
}

// Digest is a digest of all that an evaluation saw besides children and the rule's own part of the parent's status: of the
// parent, of what others have in its status, and of the lookups.
func (in *Inputs) Digest(parent *unstructured.Unstructured, othersStatus map[string]any, isOwn func(manager string) bool) (digest [sha256.Size]byte, err error) {
	slices.Sort(in.lookups)
	data, err := json.Marshal([]any{withoutStatus(parent, isOwn), othersStatus, in.lookups})
	if err != nil {
		return digest, fmt.Errorf("digest %s: %w", parent.GetName(), err)
	}
	return sha256.Sum256(data), nil
}
