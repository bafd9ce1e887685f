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

// Inputs collects what an evaluation sees, besides the parent. The methods of a nil Inputs do nothing.
type Inputs struct {
	// lookups has what was looked up, and the versions found.
	lookups []string
	// children has the versions of children before they are written; zero for one that does not exist.
	children map[identity.ID]Version
}

// NewInputs returns empty Inputs.
func NewInputs() *Inputs { return &Inputs{children: make(map[identity.ID]Version)} }

// Lookup records what a lookup found. The version of the parent itself does not count, because it changes with its
// status.
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

// Child records a child as it was before it is written; nil if it does not exist.
func (in *Inputs) Child(id identity.ID, child *unstructured.Unstructured) {
	if in == nil {
		return
	}
	if _, known := in.children[id]; !known {
		in.children[id] = VersionOf(child)
	}
}

// VersionOf returns the version of an object; zero for nil.
func VersionOf(obj *unstructured.Unstructured) Version {
	if obj == nil {
		return Version{}
	}
	return Version{UID: obj.GetUID(), Resource: obj.GetResourceVersion()}
}

// Digest is a digest of everything that an evaluation saw except children and the rule's own part of the parent's
// status: the parent, what others have in its status, and the lookups.
func (in *Inputs) Digest(parent *unstructured.Unstructured, othersStatus map[string]any, isOwn func(manager string) bool) (digest [sha256.Size]byte, err error) {
	slices.Sort(in.lookups)
	data, err := json.Marshal([]any{withoutStatus(parent, isOwn), othersStatus, in.lookups})
	if err != nil {
		return digest, fmt.Errorf("digest %s: %w", parent.GetName(), err)
	}
	return sha256.Sum256(data), nil
}
