package app

import (
	_ "embed" // the rules
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Patch is what Apps patch, in the loads in which they have no children: existing ConfigMaps, which get the Apps'
// revision.
type Patch string

const (
	// PatchOwn is one ConfigMap per App, with the App's name.
	PatchOwn Patch = "own"
	// PatchShared is one ConfigMap for all Apps, with a key for each.
	PatchShared Patch = "shared"
	// PatchSelected are many ConfigMaps, which one App selects by a label.
	PatchSelected Patch = "selected"
)

const (
	// SharedName is the name of the ConfigMap that all Apps patch.
	SharedName = "shared"
	// SelectorName is the name of the App that selects ConfigMaps.
	SelectorName = "selector"
	// PickLabel is the label of the selected ConfigMaps.
	PickLabel = "bench.kanon.dev/pick"
	// PickValue is the value of PickLabel.
	PickValue = "yes"
	// Finalizer is the finalizer of an operator that restores what it patched.
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

// Target makes a ConfigMap to patch. picked adds the label that the selecting App selects.
func Target(namespace, name string, picked bool) *corev1.ConfigMap {
	labels := Labels(name)
	if picked {
		labels[PickLabel] = PickValue
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}}
}

// PatchKey is the key that an App sets in the data of its targets.
func PatchKey(p Patch, name string) string {
	if p == PatchShared {
		return name
	}
	return RevisionKey
}
