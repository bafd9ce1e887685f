package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// clusterName is the name of the cluster and the context in kubeconfig files.
const clusterName = "controlplane"

// kubeconfig is the configuration of a client of the API server at url.
func (c *credentials) kubeconfig(url, client string) clientcmdapi.Config {
	return clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{clusterName: {Server: url, CertificateAuthorityData: c.authority}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{client: {Token: c.tokens[client]}},
		Contexts:       map[string]*clientcmdapi.Context{clusterName: {Cluster: clusterName, AuthInfo: client}},
		CurrentContext: clusterName,
	}
}

// checkKubeconfigPath rejects a file with other clusters, because the file will be overwritten.
func checkKubeconfigPath(path string) error {
	present, err := clientcmd.LoadFromFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s is there and is not a kubeconfig file that may be overwritten: %w", path, err)
	}
	for name := range present.Clusters {
		if name != clusterName {
			return fmt.Errorf("%s is not overwritten because it holds the cluster %q", path, name)
		}
	}
	return nil
}

// writeKubeconfig writes a kubeconfig file that only its owner can read.
func writeKubeconfig(path string, config clientcmdapi.Config) error {
	if err := clientcmd.WriteToFile(config, path); err != nil {
		return fmt.Errorf("write kubeconfig %s: %w", filepath.Base(path), err)
	}
	return nil
}
