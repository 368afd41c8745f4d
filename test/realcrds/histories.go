package main

// past is a project with some of its minor releases, one after the other.
type past struct {
	project string
	// clone is where it is cloned from, and the name of the clone's folder without .git.
	clone, name string
	folders     []string
	// releases have a commit each, so that a tag that is moved changes nothing.
	releases []tagged
	telling  telling
}

// tagged is a release in a repository.
type tagged struct{ tag, commit string }

// telling is the finding that the table names, which has to be among those of the report.
type telling struct{ rule, crd, to, words string }

// pasts are in the order of the table.
var pasts = []past{
	{
		project: "cert-manager", clone: "https://github.com/cert-manager/cert-manager", name: "cert-manager", folders: []string{"deploy/crds"},
		releases: []tagged{
			{"v1.2.0", "969b678f330c68a6429b7a71b271761c59651a85"},
			{"v1.3.0", "9c42eeebfd3978531b517277a21e28e3cf90b876"},
			{"v1.4.0", "5e2a6883c1202739902ac94b5f4884152b810925"},
			{"v1.5.0", "0c93a2b2b9e735153615aabfbb61d71144c2d2f8"},
			{"v1.6.0", "49914a057b39c887be0974c4657c095bd7724bc7"},
			{"v1.7.0", "7898587e9c1e562feaf801fd88e60a33f9fe6b68"},
			{"v1.8.0", "e466a521bc5455def8c224599c6edcd37e86410c"},
		},
		telling: telling{rule: "NeverDeprecated", crd: "issuers.cert-manager.io", to: "v1.6.0", words: "v1beta1 stops being served, and no CRD called it deprecated"},
	},
	{
		project: "Crossplane", clone: "https://github.com/crossplane/crossplane", name: "crossplane", folders: []string{"cluster/crds"},
		releases: []tagged{
			{"v1.14.0", "86d984665b89bc647d9dfbce88b3e6c56ff4159e"},
			{"v1.15.0", "3eee5e824bb25256beb38d86a7cd970f94e3d3d2"},
			{"v1.16.0", "15395b3ba16cf1311e97d37a6e9de63453fb4e6b"},
			{"v1.17.0", "0e973c9fabe336bf7a82abb0752869d27abadabc"},
			{"v1.18.0", "e663a43ece850e93fe5cdebb2e478e2fb9762ad1"},
			{"v1.19.0", "719b2a0f95ccbae56ccdd45a22cf8a69dafba547"},
			{"v1.20.0", "2efdb03ae80fc27f4b6b9b0cebc96a462233cf17"},
			{"v2.0.0", "b639502e2f93680ff83417a0f517ec459ce079cc"},
		},
		telling: telling{rule: "NoWayBack", crd: "environmentconfigs.apiextensions.crossplane.io", to: "v1.18.0", words: "EnvironmentConfigs are stored at v1beta1 as it comes; v1.19.0 takes that back because of rollbacks"},
	},
	{
		project: "Cluster API", clone: "https://github.com/kubernetes-sigs/cluster-api", name: "cluster-api", folders: clusterAPIFolders,
		releases: []tagged{
			{"v1.7.0", "ce58362fefb10c2c9e462a9a6c850733f4d87161"},
			{"v1.8.0", "69bbf3530777a81867328c9379b41f814b008cdb"},
			{"v1.9.0", "e5c96a612bb9e5fca8439bb024e73840205bc4d8"},
			{"v1.10.0", "4eeaa571906524fed2bb292fcbae7f8410f2222d"},
			{"v1.11.0", "2590bbf151cb35ff43acf08f6427ecfda5cd3df8"},
			{"v1.12.0", "b52de697d29fff53556697504c1ca68205841383"},
			{"v1.13.0", "cf3d8f81e95cc8b7305daabbd0ad2c8440e83c83"},
			{"v1.14.0", "560d4acf507bc7cac34b2da449fa5cd53eaeb149"},
		},
		telling: telling{rule: "NoWayBack", crd: "clusters.cluster.x-k8s.io", to: "v1.11.0", words: "v1beta2 comes and is stored at once, in all 17 CRDs"},
	},
}
