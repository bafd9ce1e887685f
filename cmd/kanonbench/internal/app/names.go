package app

import (
	"fmt"
	"strings"
)

// What children are made of, the same for every engine.
const (
	// Port is the Service's, TargetPort the container's, PortName that of both.
	Port       = 80
	TargetPort = 8080
	PortName   = "http"
	// Replicas is the Deployment's size.
	Replicas = 2
	// Container is the name of the Deployment's one container.
	Container = "web"
	// RevisionKey is the key of the ConfigMap that holds the revision, ModeKey
	// another one, that stays as it is.
	RevisionKey = "revision"
	ModeKey     = "mode"
	Mode        = "production"
	// BulkKey is the key of what makes a ConfigMap large.
	BulkKey = "bulk"
)

// Image is the Deployment's image at a revision.
func Image(revision string) string { return "registry.example.com/web:" + revision }

// Labels are on all children of a parent.
func Labels(name string) map[string]string { return map[string]string{Label: name} }

// Data is what the ConfigMaps hold at a revision, with so many bytes more where size
// is not 0.
func Data(revision string, size int) map[string]string {
	data := map[string]string{RevisionKey: revision, ModeKey: Mode}
	if size > 0 {
		data[BulkKey] = bulk(size)
	}
	return data
}

func bulk(size int) string { return strings.Repeat("x", size) }

// ExtraName is the name of the i-th ConfigMap beyond the three children.
func ExtraName(name string, i int) string { return fmt.Sprintf("%s-%d", name, i) }
