package app

import (
	"fmt"
	"strings"
)

// Constants in children, the same for every engine.
const (
	// Port is the port of the Service, TargetPort that of the container, and PortName the name of both.
	Port       = 80
	TargetPort = 8080
	PortName   = "http"
	// Replicas is the number of replicas of the Deployment.
	Replicas = 2
	// Container is the name of the Deployment's only container.
	Container = "web"
	// RevisionKey is the key of the revision in the ConfigMap. ModeKey is another key, whose value never changes.
	RevisionKey = "revision"
	ModeKey     = "mode"
	Mode        = "production"
	// BulkKey is the key of the value that makes a ConfigMap large.
	BulkKey = "bulk"
)

// Image is the image of the Deployment at a revision.
func Image(revision string) string { return "registry.example.com/web:" + revision }

// Labels are the labels of all children of a parent.
func Labels(name string) map[string]string { return map[string]string{Label: name} }

// Data is the data of ConfigMaps at a revision, with size more bytes.
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
