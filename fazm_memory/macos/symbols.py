"""What we use of macOS, for the doctor: made from the stubs by tests/appkit/sdk/symbols.py."""

from __future__ import annotations

# fmt: off

NAMES: dict[str, tuple[str, ...]] = {
    "AppKit": (
        "NSAlertFirstButtonReturn", "NSApplicationActivateAllWindows",
        "NSApplicationActivationPolicyAccessory", "NSApplicationActivationPolicyRegular",
        "NSBackingStoreBuffered", "NSImageLeft", "NSPasteboardTypeString", "NSTerminateLater",
        "NSWindowStyleMaskClosable", "NSWindowStyleMaskMiniaturizable", "NSWindowStyleMaskResizable",
        "NSWindowStyleMaskTitled", "NSWorkspaceApplicationKey",
        "NSWorkspaceDidActivateApplicationNotification", "NSWorkspaceDidLaunchApplicationNotification",
        "NSWorkspaceDidTerminateApplicationNotification", "NSWorkspaceDidWakeNotification",
        "NSWorkspaceSessionDidBecomeActiveNotification", "NSWorkspaceSessionDidResignActiveNotification",
        "NSWorkspaceWillSleepNotification",
    ),
    "CoreFoundation": (
        "CFRunLoopAddSource", "CFRunLoopGetMain", "CFRunLoopRemoveSource", "kCFRunLoopCommonModes",
    ),
    "Foundation": (
        "NSMakeRect", "NSMakeSize", "NSRunLoopCommonModes",
    ),
    "HIServices": (
        "AXIsProcessTrusted", "AXIsProcessTrustedWithOptions", "AXObserverAddNotification",
        "AXObserverCreate", "AXObserverGetRunLoopSource", "AXObserverRemoveNotification",
        "AXUIElementCopyAttributeValue", "AXUIElementCopyMultipleAttributeValues",
        "AXUIElementCreateApplication", "AXUIElementSetMessagingTimeout", "kAXDocumentAttribute",
        "kAXErrorAPIDisabled", "kAXErrorCannotComplete", "kAXErrorSuccess", "kAXFocusedWindowAttribute",
        "kAXFocusedWindowChangedNotification", "kAXTitleAttribute", "kAXTitleChangedNotification",
        "kAXTrustedCheckOptionPrompt", "kAXURLAttribute",
    ),
    "ServiceManagement": (
        "SMAppServiceStatusEnabled", "SMAppServiceStatusRequiresApproval",
    ),
    "UserNotifications": (
        "UNAuthorizationOptionAlert", "UNAuthorizationOptionSound", "UNNotificationPresentationOptionBanner",
    ),
    "WebKit": (
        "WKNavigationActionPolicyAllow", "WKNavigationActionPolicyCancel",
        "WKUserScriptInjectionTimeAtDocumentStart",
    ),
}

CLASSES: dict[str, dict[str, tuple[str, ...]]] = {
    "AppKit": {
        "NSAlert": (
            "addButtonWithTitle_", "delegate", "icon", "runModal", "setAccessoryView_", "setDelegate_",
            "setInformativeText_", "setMessageText_", "window",
        ),
        "NSImage": (
            "delegate", "imageNamed_", "imageWithSystemSymbolName_accessibilityDescription_",
            "setAccessibilityDescription_", "setDelegate_", "setTemplate_",
        ),
        "NSMenu": (
            "addItemWithTitle_action_keyEquivalent_", "addItem_", "delegate", "initWithTitle_",
            "setAccessibilityLabel_", "setDelegate_", "setTitle_", "title",
        ),
        "NSMenuItem": (
            "menu", "setAccessibilityLabel_", "setImage_", "setSubmenu_", "setTitle_", "setToolTip_", "state",
            "title",
        ),
        "NSPasteboard": (
            "clearContents", "generalPasteboard", "setString_forType_",
        ),
        "NSResponder": (
            "init", "menu",
        ),
        "NSRunningApplication": (
            "activateWithOptions_", "bundleIdentifier", "currentApplication", "icon", "localizedName",
            "processIdentifier", "runningApplicationsWithBundleIdentifier_",
        ),
        "NSStatusItem": (
            "button", "isVisible", "menu", "setImage_", "setTitle_", "setToolTip_", "title",
        ),
        "NSWorkspace": (
            "frontmostApplication", "notificationCenter", "openURL_", "sharedWorkspace",
        ),
        "NSApplication": (
            "delegate", "replyToApplicationShouldTerminate_", "run", "setAccessibilityLabel_",
            "setActivationPolicy_", "setDelegate_", "setMainMenu_", "sharedApplication", "terminate_",
        ),
        "NSView": (
            "initWithFrame_", "setAccessibilityLabel_", "setToolTip_", "window",
        ),
        "NSWindow": (
            "center", "close", "delegate", "initWithContentRect_styleMask_backing_defer_", "isVisible",
            "makeKeyAndOrderFront_", "setAccessibilityLabel_", "setContentMinSize_", "setContentView_",
            "setDelegate_", "setFrameAutosaveName_", "setInitialFirstResponder_", "setReleasedWhenClosed_",
            "setTitle_", "title",
        ),
        "NSControl": (
            "initWithFrame_", "stringValue",
        ),
        "NSButton": (
            "setImagePosition_", "setImage_", "setTitle_", "state", "title",
        ),
        "NSTextField": (
            "delegate", "setDelegate_",
        ),
        "NSStatusBarButton": (
        ),
    },
    "Foundation": {
        "NSObject": (
            "__init__", "alloc", "init", "instancesRespondToSelector_", "new",
        ),
        "NSBundle": (
            "bundleIdentifier", "bundlePath", "mainBundle",
        ),
        "NSData": (
            "__bytes__", "__len__", "dataWithBytes_length_",
        ),
        "NSError": (
            "errorWithDomain_code_userInfo_", "localizedDescription", "userInfo",
        ),
        "NSNotificationCenter": (
            "addObserver_selector_name_object_", "defaultCenter", "removeObserver_",
        ),
        "NSRunLoop": (
            "addTimer_forMode_", "mainRunLoop", "run",
        ),
        "NSTimer": (
            "invalidate", "setTolerance_", "timerWithTimeInterval_repeats_block_",
            "timerWithTimeInterval_target_selector_userInfo_repeats_", "userInfo",
        ),
        "NSURL": (
            "URLWithString_", "absoluteString", "fileURLWithPath_", "host", "path", "query", "scheme",
        ),
        "NSURLRequest": (
            "HTTPMethod", "URL", "requestWithURL_",
        ),
        "NSURLResponse": (
            "URL",
        ),
        "NSDistributedNotificationCenter": (
            "addObserver_selector_name_object_", "defaultCenter",
            "postNotificationName_object_userInfo_deliverImmediately_",
        ),
        "NSHTTPURLResponse": (
            "initWithURL_statusCode_HTTPVersion_headerFields_",
        ),
    },
    "ServiceManagement": {
        "SMAppService": (
            "mainAppService", "openSystemSettingsLoginItems", "registerAndReturnError_", "status",
            "unregisterAndReturnError_",
        ),
    },
    "UserNotifications": {
        "UNNotificationContent": (
            "body", "title", "userInfo",
        ),
        "UNNotificationRequest": (
            "content", "init", "requestWithIdentifier_content_trigger_",
        ),
        "UNUserNotificationCenter": (
            "addNotificationRequest_withCompletionHandler_", "currentNotificationCenter", "delegate", "init",
            "requestAuthorizationWithOptions_completionHandler_", "setDelegate_",
        ),
        "UNMutableNotificationContent": (
            "body", "setBody_", "setTitle_", "setUserInfo_", "title", "userInfo",
        ),
    },
    "WebKit": {
        "WKContentWorld": (
            "init", "new", "pageWorld",
        ),
        "WKNavigation": (
        ),
        "WKUserContentController": (
            "addScriptMessageHandlerWithReply_contentWorld_name_", "addUserScript_",
        ),
        "WKUserScript": (
            "initWithSource_injectionTime_forMainFrameOnly_", "source",
        ),
        "WKWebViewConfiguration": (
            "setURLSchemeHandler_forURLScheme_", "setWebsiteDataStore_", "userContentController",
        ),
        "WKWebsiteDataStore": (
            "init", "new", "nonPersistentDataStore",
        ),
        "WKWebView": (
            "URL", "evaluateJavaScript_completionHandler_", "initWithFrame_configuration_", "loadRequest_",
            "setNavigationDelegate_", "title",
        ),
    },
}
