package app

import (
	_ "embed" // the rules
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Patch is what Apps patch, in the loads in which they have no children: ConfigMaps that
// are there already, and that get the Apps' revision.
type Patch string

const (
	// PatchOwn is a ConfigMap for each App, of its name.
	PatchOwn Patch = "own"
	// PatchShared is one ConfigMap for all Apps, with a key for each.
	PatchShared Patch = "shared"
	// PatchSelected are many ConfigMaps for one App, which selects them by a label.
	PatchSelected Patch = "selected"
)

const (
	// SharedName is the name of the ConfigMap that all Apps patch.
	SharedName = "shared"
	// SelectorName is the name of the App that patches what it selects.
	SelectorName = "selector"
	// PickLabel is on the ConfigMaps that it selects.
	PickLabel = "bench.kanon.dev/pick"
	// PickValue is its value there.
	PickValue = "yes"
	// Finalizer is that of an operator that takes back what it patched.
	Finalizer = "bench.kanon.dev/patch"
)

//go:embed rule-own.yaml
var ruleOwn string

//go:embed rule-shared.yaml
var ruleShared string

//go:embed rule-selected.yaml
var ruleSelected string

// PatchRule is the work as a rule of Kanon.
func PatchRule(p Patch) (string, error) {
	switch p {
	case PatchOwn:
		return ruleOwn, nil
	case PatchShared:
		return ruleShared, nil
	case PatchSelected:
		return ruleSelected, nil
	}
	return "", fmt.Errorf("%q is nothing that Apps patch", string(p))
}

// Target makes a ConfigMap that Apps patch. picked tells whether the App that selects
// them does.
func Target(namespace, name string, picked bool) *corev1.ConfigMap {
	labels := Labels(name)
	if picked {
		labels[PickLabel] = PickValue
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

// PatchKey is the key that an App sets in the data of what it patches.
func PatchKey(p Patch, name string) string {
	if p == PatchShared {
		return name
	}
	return RevisionKey
}
