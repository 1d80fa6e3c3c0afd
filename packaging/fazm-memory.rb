# The Homebrew cask. `packaging/notarize` prints the version's checksum.
cask "fazm-memory" do
  version "@VERSION@"
  sha256 "@SHA256@"

  url "@DOWNLOADS@/v#{version}/Fazm-Memory-#{version}.dmg"
  name "Fazm Memory"
  desc "Memory of a desktop agent: what it did, where, how and why"
  homepage "@HOMEPAGE@"

  depends_on macos: ">= :ventura"

  app "Fazm Memory.app"
  # The script in Resources, not the executable: a linked executable would lose its bundle.
  binary "#{appdir}/Fazm Memory.app/Contents/Resources/fazm-memory"

  # Take our hooks and our server out of the agents' configurations, and end the launch at login. An upgrade, which uninstalls the old version
  # first, leaves them in.
  uninstall_preflight do
    unless ["upgrade", "reinstall"].include?(Homebrew.running_command)
      system_command "#{appdir}/Fazm Memory.app/Contents/MacOS/fazm-memory",
                     args: ["setup", "--remove"], must_succeed: true
    end
  end

  uninstall quit:       "org.fazm.memory",
            on_upgrade: :quit,
            launchctl:  "org.fazm.memory"

  zap trash: [
    "~/Library/Application Support/Fazm Memory",
    "~/Library/Caches/org.fazm.memory",
    "~/Library/HTTPStorages/org.fazm.memory",
    "~/Library/LaunchAgents/org.fazm.memory.plist",
    "~/Library/Preferences/org.fazm.memory.plist",
    "~/Library/Saved Application State/org.fazm.memory.savedState",
    "~/Library/WebKit/org.fazm.memory",
  ]
end
