/** A search, and the tools of the catalogue of which each would do. */
export interface Query {
  readonly words: string;
  readonly wanted: readonly string[];
}

/** One query in each line: its words, and the tools that are wanted. */
function queriesIn(lines: string): readonly Query[] {
  return lines
    .trim()
    .split("\n")
    .map((line) => {
      const [words = "", wanted = ""] = line.trim().split(" | ");
      return { words, wanted: wanted.split(", ") };
    });
}

/**
 * Written before any search was run, from what a person would ask for, and not from the descriptions of the tools. The
 * wanted tools were then looked up by name. Weights and synonyms were chosen on these.
 */
export const QUERIES = queriesIn(`
  who starred my github repository | github.activity.listStargazersForRepo
  close a github issue | github.issues.update
  which files did this pull request change | github.pulls.listFiles
  run the failed jobs of a build again | github.actions.reRunWorkflowFailedJobs
  invite a colleague to work on a repository | github.repos.addCollaborator
  make a new branch from a commit | github.git.createRef
  read the readme of a project on github | github.repos.getReadme
  publish a release with notes | github.repos.createRelease
  who approved this PR | github.pulls.listReviews
  protect the main branch from direct pushes | github.repos.updateBranchProtection
  passwords and keys that leaked into our code | github.secretScanning.listAlertsForRepo, github.secretScanning.listAlertsForOrg
  download the logs of a CI run | github.actions.downloadWorkflowRunLogs, github.actions.downloadJobLogsForWorkflowRun
  compare two branches | github.repos.compareCommitsWithBasehead, github.repos.compareCommits
  kick a person out of the organisation | github.orgs.removeMember, github.orgs.removeMembershipForUser
  add a thumbs up to a comment on an issue | github.reactions.createForIssueComment
  find code that uses a function | github.search.code
  start a workflow by hand | github.actions.createWorkflowDispatch
  mark all my github notifications as read | github.activity.markNotificationsAsRead
  dependencies with known vulnerabilities | github.dependabot.listAlertsForRepo, github.dependabot.listAlertsForOrg
  give a customer their money back | stripe.PostRefunds, stripe.PostChargesChargeRefund, stripe.PostChargesChargeRefunds
  how much money is in our stripe account | stripe.GetBalance
  invoices of a customer | stripe.GetInvoices
  start a monthly subscription for a customer | stripe.PostSubscriptions
  cancel a subscription now | stripe.DeleteSubscriptionsSubscriptionExposedId
  chargebacks that we have to answer | stripe.GetDisputes
  create a 20 percent discount | stripe.PostCoupons
  email an invoice to the client | stripe.PostInvoicesInvoiceSend
  pay out earnings to our bank account | stripe.PostPayouts
  jira tickets that are assigned to me | jira.searchForIssuesUsingJql, jira.searchForIssuesUsingJqlPost
  log two hours of work on a ticket | jira.addWorklog
  move a jira ticket to done | jira.doTransition
  give this ticket to another person | jira.assignIssue
  attach a screenshot to a ticket | jira.addAttachment
  who is watching this ticket | jira.getIssueWatchers
  mark two jira issues as duplicates of each other | jira.linkIssues
  tell the team on slack that the deploy is done | slack.chat_postMessage
  what was said in a channel lately | slack.conversations_history
  find a slack user by email | slack.users_lookupByEmail
  remind me to call Bob tomorrow | slack.reminders_add
  put a file into a slack channel | slack.files_upload
  pin a message in a channel | slack.pins_add
  send a slack message later | slack.chat_scheduleMessage
  set up a video call for next Tuesday | zoom.meetingCreate
  who attended the zoom meeting | zoom.pastMeetingParticipants, zoom.reportMeetingParticipants, zoom.dashboardMeetingParticipants
  get the recording of a meeting | zoom.recordingGet, zoom.recordingsList
  sign a person up for a webinar | zoom.webinarRegistrantCreate
  which pods are running in a namespace | kubernetes.listCoreV1NamespacedPod, kubernetes.listCoreV1PodForAllNamespaces
  read the log of a pod | kubernetes.readCoreV1NamespacedPodLog
  scale a deployment to five replicas | kubernetes.patchAppsV1NamespacedDeploymentScale, kubernetes.replaceAppsV1NamespacedDeploymentScale
  delete a pod that hangs | kubernetes.deleteCoreV1NamespacedPod
  store a secret in the cluster | kubernetes.createCoreV1NamespacedSecret
  send a mail | gmail.users.messages.send
  unread emails from my boss | gmail.users.messages.list
  turn on an out of office reply | gmail.users.settings.updateVacation
  when is everybody free this afternoon | calendar.freebusy.query
  add an appointment to my calendar | calendar.events.insert, calendar.events.quickAdd
  share a document with a colleague | drive.permissions.create
  save a google doc as pdf | drive.files.export
  text a phone number | twilio.CreateMessage
  add a song to my playlist | spotify.addTracksToPlaylist
`);

/** Written after weights and synonyms were settled, in the same way, and used for nothing but this measurement. */
export const UNSEEN_QUERIES = queriesIn(`
  list open pull requests of a repo | github.pulls.list
  merge a pull request | github.pulls.merge
  who are the contributors of this project | github.repos.listContributors
  create a label for issues | github.issues.createLabel
  rename a branch | github.repos.renameBranch
  get the contents of a file in a repository | github.repos.getContent
  commits by an author | github.repos.listCommits, github.search.commits
  fork somebody's repository | github.repos.createFork
  set up a webhook for pushes | github.repos.createWebhook, github.orgs.createWebhook
  cancel a running workflow | github.actions.cancelWorkflowRun
  which languages is this repo written in | github.repos.listLanguages
  block an abusive user from our organization | github.orgs.blockUser
  request a review from a teammate | github.pulls.requestReviewers
  add a card for a customer | stripe.PostCustomersCustomerCards, stripe.PostCustomersCustomerSources, stripe.PostPaymentMethodsPaymentMethodAttach
  list failed payments | stripe.GetPaymentIntents, stripe.GetCharges
  create a checkout page | stripe.PostCheckoutSessions, stripe.PostPaymentLinks
  look up a customer by email | stripe.GetCustomersSearch, stripe.GetCustomers
  delete a customer | stripe.DeleteCustomersCustomer
  create a bug in jira | jira.createIssue
  comment on a jira ticket | jira.addComment
  all projects in jira | jira.searchProjects, jira.getAllProjects
  history of changes of an issue | jira.getChangeLogs, jira.getChangeLogsByIds
  which statuses can I move this issue to | jira.getTransitions
  create a new channel | slack.conversations_create
  who is in this channel | slack.conversations_members
  delete a message I posted | slack.chat_delete
  search messages for a word | slack.search_messages
  cancel a zoom meeting | zoom.meetingDelete
  list my upcoming meetings | zoom.meetings
  which nodes are in the cluster | kubernetes.listCoreV1Node
  create a cron job | kubernetes.createBatchV1NamespacedCronJob
  read an email | gmail.users.messages.get
  move a mail to the trash | gmail.users.messages.trash
  cancel a meeting in my calendar | calendar.events.delete
  upload a file to drive | drive.files.create
  empty the bin | drive.files.emptyTrash
  recordings of a phone call | twilio.ListRecording, twilio.ListCallRecording
  pause the music | spotify.pauseAUsersPlayback
  top songs of an artist | spotify.getAnArtistsTopTracks
  search for an album | spotify.search, spotify.getAnAlbum
`);

/*
 * 111 queries in two voices: what a person at a desk says, and what a model types into a search. All were written before
 * any was searched for, and the wanted tools were looked up by name. Then they were divided: a query that wants a tool of
 * QUERIES went to the first half, one that wants a tool of UNSEEN_QUERIES to the second, the others by lot.
 */

/** Weights and synonyms were chosen on these too. */
export const LATER_QUERIES = queriesIn(`
  stop billing a person every month | stripe.DeleteSubscriptionsSubscriptionExposedId, stripe.DeleteCustomersCustomerSubscriptionsSubscriptionExposedId
  20 percent off code for new shoppers | stripe.PostCoupons, stripe.PostPromotionCodes
  how much money is on our account | stripe.GetBalance, twilio.FetchBalance
  hand a ticket over to a colleague | jira.assignIssue
  log two hours on a task | jira.addWorklog
  two tickets are about the same thing, connect them | jira.linkIssues
  move a task to done | jira.doTransition
  tell the team in the general channel that lunch is ready | slack.chat_postMessage
  post something tomorrow morning by itself | slack.chat_scheduleMessage
  set up a video call for Monday | zoom.meetingCreate
  watch a call that we missed | zoom.recordingGet, zoom.recordingsList
  why does my container keep crashing, show its output | kubernetes.readCoreV1NamespacedPodLog
  more copies of my web app | kubernetes.patchAppsV1NamespacedDeploymentScale, kubernetes.replaceAppsV1NamespacedDeploymentScale
  I am on holiday, answer automatically | gmail.users.settings.updateVacation
  am I free on Thursday afternoon | calendar.freebusy.query
  let my boss read this document | drive.permissions.create
  turn a doc into a pdf | drive.files.export
  text my customer that the parcel is on its way | twilio.CreateMessage
  dependabot vulnerability alerts for repository | github.dependabot.listAlertsForRepo
  list unpaid invoices for customer | stripe.GetInvoices, stripe.GetInvoicesSearch
  search issues using JQL | jira.searchForIssuesUsingJql, jira.searchForIssuesUsingJqlPost
  upload attachment to ticket | jira.addAttachment
  upload file to channel | slack.files_upload
  fetch recent messages from channel history | slack.conversations_history
  look up user by email address in workspace | slack.users_lookupByEmail
  create reminder | slack.reminders_add
  list participants of past meeting | zoom.pastMeetingParticipants, zoom.reportMeetingParticipants
  download cloud recording | zoom.recordingGet, zoom.recordingsList
  register attendee for webinar | zoom.webinarRegistrantCreate, zoom.addBatchWebinarRegistrants
  list pods in namespace | kubernetes.listCoreV1NamespacedPod
  search emails from sender with attachment | gmail.users.messages.list, gmail.users.threads.list
  schedule event with attendees | calendar.events.insert
  add tracks to playlist | spotify.addTracksToPlaylist
  redeliver failed webhook delivery | github.repos.redeliverWebhookDelivery, github.orgs.redeliverWebhookDelivery, github.apps.redeliverWebhookDelivery
  make it louder | spotify.setVolumeForUsersPlayback
  recommend songs similar to an artist | spotify.getRecommendations, spotify.getAnArtistsRelatedArtists
  list files in folder | drive.files.list
  revision history of a document | drive.revisions.list
  verify customer's identity document | stripe.PostIdentityVerificationSessions
  which tickets are still open in my repo | github.issues.listForRepo
  how many people look at my project page each day | github.repos.getViews
  download email attachment | gmail.users.messages.attachments.get
  archive channel | slack.conversations_archive, slack.admin_conversations_archive
  get ingress rules | kubernetes.listNetworkingV1NamespacedIngress, kubernetes.readNetworkingV1NamespacedIngress, kubernetes.listNetworkingV1IngressForAllNamespaces
  share calendar with colleague | calendar.acl.insert
  a bill that was never paid, write it off | stripe.PostInvoicesInvoiceMarkUncollectible, stripe.PostInvoicesInvoiceVoid
  how much room is left for my files | drive.about.get
  add watcher to issue | jira.addWatcher
  who came to yesterday's webinar | zoom.reportWebinarParticipants, zoom.listWebinarParticipants
  is my teammate online | slack.users_getPresence
  get custom field definitions | jira.getFields, jira.getFieldsPaginated
  get rid of a branch after it was merged | github.git.deleteRef
  add labels to an issue | github.issues.addLabels, github.issues.setLabels
  play the next song | spotify.skipUsersPlaybackToNextTrack
  comment on a document | drive.comments.create
`);

/** Searched for once, when weights and synonyms were chosen. */
export const LATER_UNSEEN_QUERIES = queriesIn(`
  who wrote most of the code | github.repos.listContributors, github.repos.getContributorsStats
  what happened to this ticket over time | jira.getChangeLogs, jira.getChangeLogsByIds
  who is in this channel | slack.conversations_members
  which machines are in the cluster | kubernetes.listCoreV1Node
  throw a mail away | gmail.users.messages.trash, gmail.users.messages.delete, gmail.users.threads.trash, gmail.users.threads.delete
  cancel the dentist appointment | calendar.events.delete
  get file contents from repository | github.repos.getContent
  list commits by author since date | github.repos.listCommits
  request review from teammate on PR | github.pulls.requestReviewers
  create payment link | stripe.PostPaymentLinks
  find customer by email | stripe.GetCustomersSearch, stripe.GetCustomers
  list projects visible to user | jira.searchProjects, jira.getAllProjects
  get call recording audio | twilio.FetchRecording, twilio.FetchCallRecording, twilio.ListCallRecording, twilio.ListRecording
  put a smiley on a message | slack.reactions_add
  take a published release down again | github.repos.deleteRelease, github.repos.updateRelease
  create new version for project release | jira.createVersion
  create recurring price for product | stripe.PostPrices, stripe.PostPlans
  comment on a specific line of a pull request diff | github.pulls.createReviewComment
  create configmap | kubernetes.createCoreV1NamespacedConfigMap
  songs that I have liked | spotify.getUsersSavedTracks
  follow artist | spotify.followArtistsUsers
  put a due date on a group of issues | github.issues.createMilestone, github.issues.updateMilestone
  set repository secret for CI pipeline | github.actions.createOrUpdateRepoSecret
  what did we spend on texting this month | twilio.ListUsageRecordThisMonth, twilio.ListUsageRecord, twilio.ListUsageRecordMonthly
  approve pull request | github.pulls.createReview, github.pulls.submitReview
  write a mail and keep it for later | gmail.users.drafts.create
  ring a phone number and read a sentence aloud | twilio.CreateCall
  delete stuck job | kubernetes.deleteBatchV1NamespacedJob
  is the build of this commit green | github.repos.getCombinedStatusForRef, github.repos.listCommitStatusesForRef, github.checks.listForRef, github.checks.listSuitesForRef
  remove user from zoom account | zoom.userDelete
  restart deployment rollout | kubernetes.patchAppsV1NamespacedDeployment
  do not ring for the next hour | slack.dnd_setSnooze
  mark email as read | gmail.users.messages.modify, gmail.users.messages.batchModify, gmail.users.threads.modify
  buy phone number in area code | twilio.CreateIncomingPhoneNumber, twilio.CreateIncomingPhoneNumberLocal, twilio.ListAvailablePhoneNumberLocal
  set channel topic | slack.conversations_setTopic
  when does the money arrive at our bank | stripe.GetPayouts, stripe.GetPayoutsPayout
  who is working on ticket ABC-12 | jira.getIssue
  connected account onboarding link | stripe.PostAccountLinks
  duplicate a spreadsheet | drive.files.copy
  issue virtual card with spending limit | stripe.PostIssuingCards
  create pull request from feature branch | github.pulls.create
  list upcoming events | calendar.events.list
  bind role to service account | kubernetes.createRbacAuthorizationV1NamespacedRoleBinding, kubernetes.createRbacAuthorizationV1ClusterRoleBinding
  forward incoming mail to another address | gmail.users.settings.updateAutoForwarding, gmail.users.settings.forwardingAddresses.create
  search repositories by language and stars | github.search.repos
  get thread replies | slack.conversations_replies
  what did I listen to lately | spotify.getRecentlyPlayed
  put a song in the line after the one that plays | spotify.addToQueue
  check delivery status of sms | twilio.FetchMessage
  who called us yesterday | twilio.ListCall, zoom.accountCallLogs
  get license of repository | github.licenses.getForRepo
  evict pod from node | kubernetes.createCoreV1NamespacedPodEviction
  stop getting mail about this discussion | github.activity.deleteThreadSubscription, github.activity.setThreadSubscription
  find users who can be assigned to an issue | jira.findAssignableUsers, jira.findBulkAssignableUsers
  someone contests a card payment, hand in our proof | stripe.PostDisputesDispute, stripe.PostChargesChargeDispute
  tempo and key of a track | spotify.getAudioFeatures, spotify.getSeveralAudioFeatures, spotify.getAudioAnalysis
`);
